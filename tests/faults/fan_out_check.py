"""Reads ledger and effects when a parent has ended: what is missing, and what came twice."""

from collections.abc import Iterator

import psycopg

from ops.local.pos.server import PosServer

# Each page of counts that was taken over is an effect: a restaurant, and the cursor that the page began at.
AUDIT = """
create table effects (restaurant integer not null, cursor text, changes bigint not null);
create function note_effect() returns trigger language plpgsql as $$
begin
    insert into effects values (new.restaurant_id, old.cursor, new.changes - old.changes);
    return null;
end $$;
create trigger note_effect after update on platform.pos_sync for each row
when (new.changes > old.changes) execute function note_effect();
"""

TWICE = "select restaurant, cursor, count(*) from effects group by restaurant, cursor having count(*) > 1 limit 5"
PARENT = """
select status, result, (select count(*) from shiftlock.job_attempts where run_id = run.id and outcome = 'succeeded')
from shiftlock.job_runs as run where job_name = %(parent)s and run_key = %(key)s
"""
CHILDREN = """
select child.status, count(*) from shiftlock.job_runs as child
join shiftlock.job_runs as parent on parent.id = child.parent_id
where parent.job_name = %(parent)s and parent.run_key = %(key)s group by child.status
"""
MORE_THAN_ONE_SUCCESS = """
select run_id, count(*) from shiftlock.job_attempts where outcome = 'succeeded' group by run_id having count(*) > 1
"""
STOCK = "select restaurant_id, id, on_hand from platform.stock"
SYNCED = "select count(*) from platform.pos_sync where synced_at is not null"


def findings(ledger: psycopg.Connection, pos: PosServer, *, parent: str, key: str) -> list[str]:
    """One line for everything that is not as it should be."""
    return [*_of_the_ledger(ledger, len(pos.items), parent, key), *_of_the_effects(ledger, pos)]


def _of_the_ledger(ledger: psycopg.Connection, children: int, parent: str, key: str) -> Iterator[str]:
    facts = {"parent": parent, "key": key}
    row = ledger.execute(PARENT, facts).fetchone()
    if row is None or row[0] != "succeeded":
        yield f"the parent is {row}"
    elif (row[1]["children"], row[1]["succeeded"], row[2]) != (children, children, 1):
        yield f"the parent has ended with {row[1]} after {row[2]} attempts that succeeded"
    found: dict[str, int] = dict(ledger.execute(CHILDREN, facts).fetchall())
    if found != {"succeeded": children}:
        yield f"children by status: {found}, and {children} were sent out"
    for run_id, count in ledger.execute(MORE_THAN_ONE_SUCCESS).fetchall():
        yield f"run {run_id} has succeeded {count} times"


def _of_the_effects(ledger: psycopg.Connection, pos: PosServer) -> Iterator[str]:
    for restaurant, cursor, count in ledger.execute(TWICE).fetchall():
        yield f"restaurant {restaurant}: the page at {cursor} was taken over {count} times"
    row = ledger.execute(SYNCED).fetchone()
    if row != (len(pos.items),):
        yield f"{row} restaurants are complete, of {len(pos.items)}"
    counted = {
        (restaurant, change.item): change.on_hand for restaurant in pos.items for change in pos.changes(restaurant)
    }
    different = sum(
        counted.get((restaurant, item)) != on_hand for restaurant, item, on_hand in ledger.execute(STOCK).fetchall()
    )
    if different:
        yield f"{different} items of the stock are not what the POS counts"
