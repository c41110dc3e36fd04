"""What the ledger says at the end: one record for each run."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

RUNS = """
select run.job_name as job, run.run_key, run.tick, run.trigger, run.status, run.skip_reason,
       first.started_at, tried.ended_at, coalesce(tried.attempts, 0) as attempts,
       coalesce(tried.failed, 0) as failed, coalesce(tried.lost, 0) as lost
from shiftlock.job_runs run
left join shiftlock.job_attempts first on first.run_id = run.id and first.attempt = 1
left join (
    select run_id, max(ended_at) as ended_at, count(*) as attempts,
           count(*) filter (where outcome = 'failed') as failed, count(*) filter (where outcome = 'lost') as lost
    from shiftlock.job_attempts group by run_id
) as tried on tried.run_id = run.id
where run.tick >= %(start)s and run.tick < %(end)s
order by run.tick, run.job_name, run.run_key
"""


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it stands at the end. started_at: of the first attempt; ended_at: of the last that has ended.

    attempts: all; failed, lost: those of them that ended so.
    """

    job: str
    run_key: str
    tick: datetime
    trigger: str
    status: str
    skip_reason: str | None
    started_at: datetime | None
    ended_at: datetime | None
    attempts: int
    failed: int
    lost: int


def history(connection: psycopg.Connection, start: datetime, end: datetime) -> Iterator[Run]:
    """Yield the runs with a tick from `start` up to `end`, ascending."""
    yield from connection.cursor(row_factory=class_row(Run)).execute(RUNS, {"start": start, "end": end})
