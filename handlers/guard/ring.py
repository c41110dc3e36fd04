"""Ring again for runs that wait without a message: each gets a row in the outbox, from which a message is sent."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import psycopg

# Compare and swap: of many that see a run waiting, one rings.
RING = """
with due as (
    select id, job_name from shiftlock.job_runs
    where id = any(%(runs)s) and status = 'pending' and coalesce(message_until <= clock_timestamp(), true)
    order by id for update skip locked
), mail as (
    insert into shiftlock.outbox (run_id, job_name) select id, job_name from due order by id
)
update shiftlock.job_runs as run set message_until = clock_timestamp() + job.lasts
from due join unnest(%(jobs)s::text[], %(lasts)s::interval[]) as job (name, lasts) on job.name = due.job_name
where run.id = due.id
returning run.id
"""

NEXT_PARKED = """
select id from shiftlock.job_runs
where lock_key = %(lock_key)s and status = 'pending' and trigger = 'queue' and message_until is null
  and next_run <= clock_timestamp()
order by id limit 1
"""


def ring(connection: psycopg.Connection, runs: Sequence[int], lasts: Mapping[str, timedelta]) -> set[int]:
    """Put these runs into the outbox unless a message is on its way; the ids of those that are there now.

    lasts: by job, how long a message of it waits in its queue.
    """
    facts = {"runs": list(runs), "jobs": list(lasts), "lasts": list(lasts.values())}
    return {run_id for (run_id,) in connection.execute(RING, facts)}


def ring_next(connection: psycopg.Connection, lock_key: int, lasts: Mapping[str, timedelta]) -> set[int]:
    """Ring for the run that has waited longest for this lock key without a message, if one does."""
    row = connection.execute(NEXT_PARKED, {"lock_key": lock_key}).fetchone()
    return set() if row is None else ring(connection, [row[0]], lasts)
