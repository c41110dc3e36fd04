"""A start that came to nothing: no process ever claimed the run. It uses up no attempt, but not for ever."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
from psycopg.rows import class_row

# A tick that nobody has planned, and whose start failed before a claim could write it.
ENTER = """
insert into shiftlock.job_runs (job_name, run_key, partition, lock_key, tick, trigger, status, next_run)
select name, %(run_key)s, %(partition)s, lock_key, %(tick)s, %(trigger)s, 'pending', %(tick)s
from shiftlock.jobs where name = %(job)s
on conflict (job_name, run_key) do nothing
"""

BY_KEY = "select id from shiftlock.job_runs where job_name = %(job)s and run_key = %(run_key)s"

# What began or ended after the start was ordered is another attempt: the order was a duplicate, or has come too late.
ATTEMPTS = """
select attempt from shiftlock.job_runs as run
where id = %(run_id)s and job_name = %(job)s and status = 'pending' and not exists (
    select from shiftlock.job_attempts as past
    where past.run_id = run.id
      and (past.compute = %(compute)s or greatest(past.started_at, past.ended_at) > %(ordered_at)s::timestamptz)
)
"""

# Compare and swap on the number of attempts: of two who tell of the same start, one writes. The order that led to this
# start is over with it, and does not keep back the next.
START_FAILED = """
with failed as (
    update shiftlock.job_runs set
        status = case when infra_failures >= cardinality(%(waits)s::interval[]) then 'failed' else 'pending' end,
        finished_at = case when infra_failures >= cardinality(%(waits)s::interval[]) then clock_timestamp() end,
        next_run = clock_timestamp() + coalesce((%(waits)s::interval[])[infra_failures + 1], interval '0'),
        attempt = attempt + 1, infra_failures = infra_failures + 1, error_msg = %(error)s, called_at = null
    where id = %(run_id)s and job_name = %(job)s and status = 'pending' and attempt = %(attempts)s
    returning id, job_name, attempt, status
), noted as (
    insert into shiftlock.job_attempts (run_id, attempt, fence, holder, compute, outcome, started_at, ended_at, error)
    select id, attempt, nextval('shiftlock.fence'), 'nobody', %(compute)s, 'start_failed', now(), now(), %(error)s
    from failed
)
select job_name as job, id as run_id, status from failed
"""


@dataclass(frozen=True, slots=True)
class FailedStart:
    """A run whose start failed, and the state it is in now: pending, or failed after one start too many."""

    job: str
    run_id: int
    status: str


def enter_tick(
    connection: psycopg.Connection, job: str, *, run_key: str, tick: datetime, trigger: str, partition: str | None
) -> None:
    """Give a tick of a registered job its row, pending, unless it has one."""
    facts = {"job": job, "run_key": run_key, "tick": tick, "trigger": trigger, "partition": partition}
    connection.execute(ENTER, facts)


def run_of_key(connection: psycopg.Connection, job: str, run_key: str) -> int | None:
    """The id of the job's run with this key, None when there is none."""
    row = connection.execute(BY_KEY, {"job": job, "run_key": run_key}).fetchone()
    return None if row is None else int(row[0])


def attempts_before(
    connection: psycopg.Connection, job: str, run_id: int, *, compute: str, ordered_at: datetime | None
) -> int | None:
    """How many attempts the run had had when a start was ordered of which only the time is known, if that.

    None when the run has moved on: it does not wait for a start any more, this very execution has been an attempt of
    it, or another has begun or ended since `ordered_at`.
    """
    facts = {"job": job, "run_id": run_id, "compute": compute, "ordered_at": ordered_at}
    row = connection.execute(ATTEMPTS, facts).fetchone()
    return None if row is None else int(row[0])


def start_failed(
    connection: psycopg.Connection,
    job: str,
    run_id: int,
    *,
    attempts: int,
    compute: str,
    error: str,
    waits: Sequence[timedelta],
) -> FailedStart | None:
    """Record the attempt that never began; the run is due again after a wait, or has failed when none is left.

    attempts: how many the run had had before. waits: one for each failure of infrastructure that a run may have. None
    when the run has moved on, and then nothing is written.
    """
    facts = {
        "job": job,
        "run_id": run_id,
        "attempts": attempts,
        "compute": compute,
        "error": error,
        "waits": list(waits),
    }
    return connection.cursor(row_factory=class_row(FailedStart)).execute(START_FAILED, facts).fetchone()
