"""What `jobs doctor` finds stuck in the ledger: runs that do not go on by themselves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import LiteralString

import psycopg
from psycopg.rows import class_row

from handlers.declaration.catalogue import Catalogue
from ops.finding import Finding
from ops.wording import span

SHOWN = 3

LOST = """
select id, job_name as job, run_key, extract(epoch from clock_timestamp() - lease_until)::float8 as seconds,
       count(*) over () as in_all
from shiftlock.job_runs where status = 'running' and lease_until <= clock_timestamp()
order by lease_until limit %(shown)s
"""

UNKNOWN = """
select id, job_name as job, run_key, extract(epoch from clock_timestamp() - last_run)::float8 as seconds,
       count(*) over () as in_all
from shiftlock.job_runs where status = 'unknown'
order by last_run limit %(shown)s
"""

# A job that is paused, or a run that waits for one that goes on, is not late.
OVERDUE = """
select run.id, run.job_name as job, run.run_key,
       extract(epoch from clock_timestamp() - run.next_run)::float8 as seconds, count(*) over () as in_all
from shiftlock.job_runs run
join shiftlock.jobs job on job.name = run.job_name and job.paused_at is null
left join unnest(%(jobs)s::text[], %(limits)s::interval[]) as declared (job, late_after)
    on declared.job = run.job_name
where run.status = 'pending'
  and run.next_run < clock_timestamp() - coalesce(declared.late_after, interval '0')
  and not (run.waiting and exists (
      select from shiftlock.job_runs other where other.lock_key = run.lock_key and other.status = 'running'
  ))
order by run.next_run limit %(shown)s
"""


@dataclass(frozen=True, slots=True)
class StuckRun:
    """A run that does not go on by itself. seconds: since when. in_all: how many there are like it."""

    id: int
    job: str
    run_key: str
    seconds: float
    in_all: int


def check_stuck(connection: psycopg.Connection, schedule: Catalogue) -> Iterator[Finding]:
    """Yield what is lost, unknown and overdue in a ledger with its schema. Raises psycopg.Error."""
    yield _stuck(
        "lost runs",
        "lease ended {} ago",
        _runs(connection, LOST),
        "the job's next start takes it over, and `jobs run JOB --tick TICK` does so now",
    )
    yield _stuck(
        "unknown runs",
        "started {} ago",
        _runs(connection, UNKNOWN),
        "find out what it did, then `jobs resolve RUN --as succeeded|failed|retry`",
    )
    limits = {
        "jobs": [job.name for job in schedule],
        "limits": [job.late_after for job in schedule],
    }
    yield _stuck(
        "overdue runs",
        "due {} ago",
        _runs(connection, OVERDUE, limits),
        "`jobs run JOB --tick TICK` starts it now, `jobs cancel RUN` drops it",
    )


def _runs(
    connection: psycopg.Connection, query: LiteralString, facts: Mapping[str, object] | None = None
) -> list[StuckRun]:
    return (
        connection.cursor(row_factory=class_row(StuckRun)).execute(query, {"shown": SHOWN, **(facts or {})}).fetchall()
    )


def _stuck(check: str, since: str, runs: Sequence[StuckRun], remedy: str) -> Finding:
    if not runs:
        return Finding(check, "none")
    shown = [
        f"run {run.id} ({run.job}@{run.run_key}, {since.format(span(timedelta(seconds=run.seconds)))})" for run in runs
    ]
    more = runs[0].in_all - len(runs)
    return Finding(check, ", ".join(shown) + (f" and {more} more" if more else ""), remedy)
