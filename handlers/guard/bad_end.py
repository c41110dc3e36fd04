"""Runs that have ended failed or unknown: what somebody who is told of one wants to know first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

BY_ID = """
select run.job_name as job, run.id as run_id, run.run_key, run.tick, run.status, run.attempt as attempts,
       run.error_msg as error, last.log_link
from shiftlock.job_runs as run
left join shiftlock.job_attempts as last on last.run_id = run.id and last.attempt = run.attempt
where run.id = any(%(run_ids)s::bigint[]) and run.status in ('failed', 'unknown')
  and (%(compute)s::text is null or last.compute = %(compute)s)
order by run.id
"""

# Attempts have no index by compute, which every claim would pay for. A start names its run, or it was rung for a tick
# of its own time: of a job that is rung each minute these are the last day and more, and a run lasts a day at most.
BY_COMPUTE = """
select run.job_name as job, run.id as run_id, run.run_key, run.tick, run.status, run.attempt as attempts,
       run.error_msg as error, last.log_link
from (
    (select * from shiftlock.job_runs where id = %(run_id)s::bigint)
    union all
    (select * from shiftlock.job_runs where job_name = %(job)s order by id desc limit 2000)
) as run
join shiftlock.job_attempts as last on last.run_id = run.id and last.attempt = run.attempt
where run.status in ('failed', 'unknown') and run.job_name = %(job)s and last.compute = %(compute)s
limit 1
"""


# Compare and swap: of two passes one tells.
UNTOLD = """
update shiftlock.job_runs set untold = false
where id in (select id from shiftlock.job_runs where untold order by id limit %(most)s for update skip locked)
returning id
"""


@dataclass(frozen=True, slots=True)
class BadEnd:
    """A run that has failed, or of which nobody knows what it did. log_link: of its last attempt."""

    job: str
    run_id: int
    run_key: str
    tick: datetime | None
    status: str
    attempts: int
    error: str | None
    log_link: str | None


def bad_ends(connection: psycopg.Connection, run_ids: Sequence[int], *, compute: str | None = None) -> list[BadEnd]:
    """Those of the runs that are failed or unknown now. compute: only where the last attempt was there."""
    facts = {"run_ids": list(run_ids), "compute": compute}
    return connection.cursor(row_factory=class_row(BadEnd)).execute(BY_ID, facts).fetchall()


def untold(connection: psycopg.Connection, *, most: int) -> list[BadEnd]:
    """The runs that have ended badly and nobody has been told of: each is given once, `most` of them at a time."""
    return bad_ends(connection, [run_id for (run_id,) in connection.execute(UNTOLD, {"most": most})])


def bad_end_of(connection: psycopg.Connection, job: str, compute: str, *, run_id: int | None) -> BadEnd | None:
    """The run whose last attempt was there, if it is failed or unknown now.

    compute: as the attempt gave it, such as `fargate:TASK`. run_id: the run that it was started for, None where its
    start named none; then it is among the newest of the job.
    """
    facts = {"job": job, "compute": compute, "run_id": run_id}
    return connection.cursor(row_factory=class_row(BadEnd)).execute(BY_COMPUTE, facts).fetchone()
