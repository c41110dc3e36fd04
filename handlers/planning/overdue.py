"""What has gone on for too long: tasks past their deadline, and due runs that nobody has started."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import psycopg

# A process ends itself at its deadline. One that cannot, and one whose run was taken from it, goes on at our cost: a
# frozen container, or a job that does not come back. A lost one is named for some minutes, until it is gone.
OVERDUE = """
select run.job_name, run.id, substr(attempt.compute, 9) as task, 'it has passed its deadline'
from shiftlock.job_runs as run
join shiftlock.job_attempts as attempt on attempt.run_id = run.id and attempt.attempt = run.attempt
join unnest(%(jobs)s::text[], %(limits)s::interval[]) as declared (job, most) on declared.job = run.job_name
where run.status = 'running' and attempt.outcome is null and attempt.compute like 'fargate:%%'
  and attempt.started_at < clock_timestamp() - declared.most
union all
select run.job_name, run.id, substr(attempt.compute, 9), 'its run was taken from it'
from shiftlock.job_attempts as attempt join shiftlock.job_runs as run on run.id = attempt.run_id
where attempt.outcome = 'lost' and attempt.ended_at > clock_timestamp() - interval '3 minutes'
  and attempt.compute like 'fargate:%%'
limit 100
"""

OLDEST_DUE = """
select run.job_name, extract(epoch from clock_timestamp() - min(run.next_run))::float8
from shiftlock.job_runs as run join shiftlock.jobs as job on job.name = run.job_name and job.paused_at is null
where run.status = 'pending' and run.next_run <= clock_timestamp() and run.job_name = any(%(jobs)s)
  and run.trigger <> 'queue' -- how long messages wait is the queue's to tell
group by run.job_name
"""


def overdue_tasks(connection: psycopg.Connection, limits: Mapping[str, timedelta]) -> list[tuple[str, int, str, str]]:
    """Job, run, ECS task id and reason of each task that should be gone. limits: how long each job may go on."""
    return connection.execute(OVERDUE, {"jobs": list(limits), "limits": list(limits.values())}).fetchall()


def oldest_due(connection: psycopg.Connection, jobs: Sequence[str]) -> dict[str, float]:
    """Seconds since the oldest due run of each job became due, for those that have one and are not paused."""
    return dict(connection.execute(OLDEST_DUE, {"jobs": list(jobs)}).fetchall())
