"""The pending runs that a pass judges, read from the ledger, with what their verdicts depend on."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from handlers.planning.carry_out import CALL_AGAIN
from handlers.planning.misfire import Due

# How many due runs of a job one pass judges, and as many that were sent to it. Of ticks the newest: none of what is due
# now waits behind what was missed. Of what was sent the oldest, and of a lock key the one whose turn it is.
MOST_DUE = 2000

PENDING = """
select run.job_name as job, run.id as run_id, run.run_key, run.next_run as due_at, run.tick, run.lock_key, run.trigger,
       run.attempt as attempts, (run.attempt = 0 and not run.waiting and run.next_run = run.tick) is true as fresh,
       (select trigger from shiftlock.job_runs as other
        where other.lock_key = run.lock_key and other.status = 'running') as held_by,
       exists (select from shiftlock.job_runs as other where other.job_name = run.job_name
               and other.status = 'running' and other.trigger = 'catch-up') as catching_up,
       (run.called_at between clock_timestamp() - %(again)s and clock_timestamp()
        and run.called_at > coalesce(run.last_run, '-infinity')) is true as called
from shiftlock.job_runs as run where status = 'pending'
"""

DUE = f"""{PENDING}
and run.id in (
    select id from (select id, row_number() over (
            partition by job_name, sent order by case when sent then next_run end, next_run desc, id) as place
        from (
            select id, job_name, next_run, trigger = 'queue' as sent,
                   row_number() over (partition by lock_key, trigger = 'queue' order by next_run, id) as turn
            from shiftlock.job_runs where status = 'pending' and next_run <= clock_timestamp()
              and job_name = any(%(jobs)s) -- and while no message is on its way
              and (trigger <> 'queue' or coalesce(message_until <= clock_timestamp(), true))
        ) as due where turn = 1 or not sent) as placed where place <= %(most)s
) order by next_run, id
"""  # noqa: S608 - of constants

# What was due already when the schedule changed stays: it was due by the schedule of its time. Of a job that has left
# the table nothing can stay. What a job had due long before it came, or came back, is not missed.
WITHOUT_REASON = f"""{PENDING}
and attempt = 0 and not waiting and next_run = tick and (
    job_name = any(%(changed)s) and tick > clock_timestamp()
    or job_name = any(%(removed)s)
    or job_name = any(%(new)s) and tick < clock_timestamp() - interval '1 day'
) order by id
"""

# By the keys of ticks, which are their minutes and sort like them, and no further back than the oldest that is due.
NEWEST_STARTED = """
select asked.job, recent.tick from unnest(%(jobs)s::text[], %(oldest)s::text[]) as asked (job, oldest)
cross join lateral (
    select tick from shiftlock.job_runs
    where job_name = asked.job and run_key >= asked.oldest and run_key < '9999' and attempt > 0 and tick is not null
    order by run_key desc limit 1
) as recent
"""

# A run of a holder that is well is looked at once a lease: its lease has been renewed by then.
COMING = """
select least(
    (select min(next_run) from shiftlock.job_runs where status = 'pending' and next_run > clock_timestamp()),
    (select min(lease_until) from shiftlock.job_runs where status = 'running')
)
"""


def due_runs(connection: psycopg.Connection, jobs: Sequence[str], *, again: timedelta) -> list[tuple[str, Due]]:
    """The runs of these jobs that are due, the longest due first, each with its job; MOST_DUE of a job at most.

    again: how long a call counts.
    """
    return _pending(connection, DUE, {"jobs": list(jobs), "most": MOST_DUE, "again": again})


def without_reason(
    connection: psycopg.Connection, *, changed: Sequence[str], removed: Sequence[str], new: Sequence[str]
) -> list[tuple[str, Due]]:
    """Planned runs ahead of the changed jobs, all of the removed ones, and old ones of the new, each with its job."""
    facts = {"changed": list(changed), "removed": list(removed), "new": list(new), "again": CALL_AGAIN}
    return _pending(connection, WITHOUT_REASON, facts)


def newest_started(connection: psycopg.Connection, oldest: Mapping[str, str]) -> dict[str, datetime]:
    """The newest tick of each job that has had an attempt, if it is not before the tick with the key in `oldest`."""
    return dict(connection.execute(NEWEST_STARTED, {"jobs": list(oldest), "oldest": list(oldest.values())}).fetchall())


def coming(connection: psycopg.Connection) -> datetime | None:
    """When the next pending run is due or the next lease ends, whichever comes first."""
    row = connection.execute(COMING).fetchone()
    return None if row is None else row[0]


def _pending(connection: psycopg.Connection, query: LiteralString, facts: dict[str, Any]) -> list[tuple[str, Due]]:
    found = connection.cursor(row_factory=dict_row).execute(query, facts)
    return [(row.pop("job"), Due(**row)) for row in found]
