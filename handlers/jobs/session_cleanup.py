"""Delete sessions that ended more than a week before the tick, in short transactions.

Sessions that have not ended are never touched, however old. Told to stop, it ends between two transactions.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

    from handlers.runtime.context import Context

KEPT_FOR = timedelta(days=7)
BATCH = 5000  # rows per transaction, so that locks are held for tens of milliseconds

OLD = """
select min(id), max(id) from (
    select id, (row_number() over (order by id) - 1) / %(batch)s as batch from platform.sessions
    where ended_at < %(before)s
) as old
group by batch order by batch
"""

# Looks at ended_at again: between first and last there are sessions that are still live or ended too lately.
DELETE = "delete from platform.sessions where id between %(first)s and %(last)s and ended_at < %(before)s"


def run(context: Context) -> Mapping[str, object]:
    """Delete the old sessions; say up to when, and how many this attempt deleted."""
    before = context.tick - KEPT_FOR
    ranges = context.connection.execute(OLD, {"before": before, "batch": BATCH}).fetchall()
    deleted = 0

    def delete(tx: psycopg.Connection, ids: tuple[int, int]) -> None:
        nonlocal deleted
        first, last = ids
        deleted += tx.execute(DELETE, {"first": first, "last": last, "before": before}).rowcount

    context.each(ranges, delete, key=lambda ids: f"sessions:{ids[0]}-{ids[1]}", batch=1)
    return {"before": before.isoformat(), "deleted": deleted}
