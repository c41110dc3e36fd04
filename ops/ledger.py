"""What people ask the ledger: read only, each question one statement, each answer a frozen record."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

JOBS = "select name from shiftlock.jobs"
PAUSED = "select name from shiftlock.jobs where paused_at is not null"

# Rows are planned ahead of their time, so the highest id need not be the latest run; it is never far from it.
LAST_RUNS = """
select last.* from unnest(%(jobs)s::text[]) as asked (job)
cross join lateral (
    select id, job_name as job, run_key, status, skip_reason, coalesce(last_run, finished_at) as at
    from (
        select * from shiftlock.job_runs where job_name = asked.job order by id desc limit 20
    ) as recent
    where status <> 'pending' or attempt > 0
    order by at desc nulls last, id desc limit 1
) as last
"""

# Rows that are only planned, which nothing has touched yet.
PLANS = (
    "status = 'pending' and trigger = 'plan' and attempt = 0 and infra_failures = 0 and next_run > clock_timestamp()"
)
PLANNED = f"""
select count(*) from shiftlock.job_runs where {PLANS} and (%(job)s::text is null or job_name = %(job)s)
"""  # noqa: S608 - of a constant

# A run's time is counted from its first attempt's start to its last one's end, the waits between them included.
RUNS = f"""
select run.id, run.job_name as job, run.run_key, run.partition, run.tick, run.trigger, run.status, run.skip_reason,
       run.waiting, run.cancel_reason, run.attempt as attempts, run.next_run as due_at, tried.began as started_at,
       extract(epoch from tried.until - tried.began)::float8 as seconds, run.error_msg as error
from (
    select * from shiftlock.job_runs
    where (%(job)s::text is null or job_name = %(job)s)
      and (status = %(status)s or %(status)s::text is null and not ({PLANS}))
    order by id desc limit %(last)s
) as run
cross join lateral (
    select min(started_at) as began, max(coalesce(ended_at, clock_timestamp())) as until
    from shiftlock.job_attempts where run_id = run.id
) as tried
order by run.id desc
"""  # noqa: S608 - of a constant

RUN_BY_ID = "select id from shiftlock.job_runs where id = %(id)s"
RUN_BY_KEY = "select id from shiftlock.job_runs where job_name = %(job)s and run_key = %(run_key)s"

DETAILS = """
select id, job_name as job, run_key, partition, tick, trigger, payload, status, skip_reason, waiting, cancel_reason,
       next_run as due_at, created_at, finished_at, attempt as attempts, infra_failures, holder, lease_until,
       (status = 'running' and may_fail is not null) as waits_for_children,
       extract(epoch from lease_until - clock_timestamp())::float8 as lease_left_seconds, progress, result,
       error_msg as error, (select count(*) from shiftlock.run_steps where run_id = run.id) as steps
from shiftlock.job_runs as run where id = %(id)s
"""

FAMILY = """
select run.parent_id as parent, parent.job_name as parent_job, parent.run_key as parent_key, child.children,
       child.ended, child.succeeded
from shiftlock.job_runs as run
left join shiftlock.job_runs as parent on parent.id = run.parent_id
cross join lateral (
    select count(*) as children, count(*) filter (where status = 'succeeded') as succeeded,
           count(*) filter (where status not in ('pending', 'running', 'unknown')) as ended
    from shiftlock.job_runs where parent_id = run.id
) as child
where run.id = %(id)s
"""

ATTEMPTS = """
select attempt, outcome, compute, holder, started_at, ended_at,
       extract(epoch from coalesce(ended_at, clock_timestamp()) - started_at)::float8 as seconds,
       (select count(*) from shiftlock.run_steps as step
        where step.run_id = tried.run_id and step.fence = tried.fence) as steps,
       error, log_link
from shiftlock.job_attempts as tried where run_id = %(id)s order by attempt
"""

LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LastRun:
    """The latest run of a job that was more than a plan; `at` is its last start, or when it was decided."""

    id: int
    job: str
    run_key: str
    status: str
    skip_reason: str | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Run:
    """One run in a list. due_at: when it was, is or will again be due. seconds: None before its first start.

    waiting: for the run before it. cancel_reason: why somebody wants it to end, or wanted that.
    """

    id: int
    job: str
    run_key: str
    partition: str | None
    tick: datetime | None
    trigger: str
    status: str
    skip_reason: str | None
    waiting: bool
    cancel_reason: str | None
    attempts: int
    due_at: datetime
    started_at: datetime | None
    seconds: float | None
    error: str | None


@dataclass(frozen=True, slots=True)
class RunDetails:
    """One run with all that is known of it but its attempts. steps: effects recorded so far.

    lease_left_seconds: on the database's clock; below 0 once the lease has ended. waits_for_children: its own work is
    done, no process holds it, and the last of the runs that it has sent out ends it.
    """

    id: int
    job: str
    run_key: str
    partition: str | None
    tick: datetime | None
    trigger: str
    payload: dict[str, Any]
    status: str
    skip_reason: str | None
    waiting: bool
    cancel_reason: str | None
    due_at: datetime
    created_at: datetime
    finished_at: datetime | None
    attempts: int
    infra_failures: int
    holder: str | None
    lease_until: datetime | None
    lease_left_seconds: float | None
    waits_for_children: bool
    progress: dict[str, Any] | None
    result: Any
    error: str | None
    steps: int


@dataclass(frozen=True, slots=True)
class Family:
    """The run that has sent a run out, None for one that nobody has, and how far those are that it has sent out."""

    parent: int | None
    parent_job: str | None
    parent_key: str | None
    children: int
    ended: int
    succeeded: int


@dataclass(frozen=True, slots=True)
class AttemptDetails:
    """One attempt; outcome and ended_at are None while it goes on, and seconds are counted up to now."""

    attempt: int
    outcome: str | None
    compute: str
    holder: str
    started_at: datetime
    ended_at: datetime | None
    seconds: float
    steps: int
    error: str | None
    log_link: str | None


def registered_jobs(ledger: psycopg.Connection) -> tuple[str, ...]:
    """The names of all jobs that the ledger has ever known."""
    return tuple(name for (name,) in ledger.execute(JOBS))


def paused_jobs(ledger: psycopg.Connection) -> frozenset[str]:
    """The names of the jobs that a person has paused."""
    return frozenset(name for (name,) in ledger.execute(PAUSED))


def last_runs(ledger: psycopg.Connection, jobs: Sequence[str]) -> dict[str, LastRun]:
    """The latest run of each of these jobs that has one, by name."""
    rows = ledger.cursor(row_factory=class_row(LastRun)).execute(LAST_RUNS, {"jobs": list(jobs)})
    return {run.job: run for run in rows}


def newest_runs(ledger: psycopg.Connection, *, job: str | None, status: str | None, last: int) -> list[Run]:
    """The `last` newest runs, the newest first; None for a job means any, for a status any but the merely planned."""
    facts = {"job": job, "status": status, "last": last}
    return ledger.cursor(row_factory=class_row(Run)).execute(RUNS, facts).fetchall()


def planned_runs(ledger: psycopg.Connection, *, job: str | None) -> int:
    """How many rows are merely planned: ticks to come, which nothing has tried yet."""
    [(count,)] = ledger.execute(PLANNED, {"job": job})
    return int(count)


def find_by_id(ledger: psycopg.Connection, run_id: int) -> int | None:
    """The id itself when there is such a run."""
    if run_id > LARGEST_ID:
        return None
    row = ledger.execute(RUN_BY_ID, {"id": run_id}).fetchone()
    return None if row is None else int(row[0])


def find_by_key(ledger: psycopg.Connection, job: str, run_key: str) -> int | None:
    """The id of a job's run with this key, such as a tick's minute."""
    row = ledger.execute(RUN_BY_KEY, {"job": job, "run_key": run_key}).fetchone()
    return None if row is None else int(row[0])


def details(ledger: psycopg.Connection, run_id: int) -> tuple[RunDetails, list[AttemptDetails]]:
    """A run that exists and its attempts, the first first."""
    [run] = ledger.cursor(row_factory=class_row(RunDetails)).execute(DETAILS, {"id": run_id})
    attempts = ledger.cursor(row_factory=class_row(AttemptDetails)).execute(ATTEMPTS, {"id": run_id}).fetchall()
    return run, attempts


def family(ledger: psycopg.Connection, run_id: int) -> Family:
    """Parent and children of a run that exists."""
    [found] = ledger.cursor(row_factory=class_row(Family)).execute(FAMILY, {"id": run_id})
    return found
