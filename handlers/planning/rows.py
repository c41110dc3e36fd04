"""What is planned ahead, in the ledger: each statement is safe beside itself, so any number of schedulers may plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
from psycopg.rows import class_row

from handlers.planning.ahead import Row

# Jobs that have left the table count as long as they have rows ahead, and once no scheduler has them in its own.
REGISTERED = """
select name, schedule, planned_until, scheduled_since, paused_at is not null as paused, clock_timestamp() as now
from shiftlock.jobs where name = any(%(jobs)s)
   or planned_until is not null and coalesce(seen_at < clock_timestamp() - %(unseen)s, true)
"""
UNSEEN = timedelta(minutes=15)

SEE = """
update shiftlock.jobs set seen_at = clock_timestamp()
where name = any(%(jobs)s) and coalesce(seen_at < clock_timestamp() - %(often)s, true)
"""

# A tick that a changed schedule has superseded comes back with the schedule, as long as it lies ahead: while one
# version of the job table replaces another, schedulers of both may be at work.
PLAN = """
insert into shiftlock.job_runs as run
    (job_name, run_key, lock_key, tick, trigger, status, skip_reason, next_run, finished_at)
select job.name, ahead.run_key, job.lock_key, ahead.tick, 'plan', case when gap then 'skipped' else 'pending' end,
       case when gap then 'dst' end, ahead.tick, case when gap then clock_timestamp() end
from unnest(%(jobs)s::text[], %(keys)s::text[], %(ticks)s::timestamptz[], %(gaps)s::boolean[])
     as ahead (job, run_key, tick, gap)
join shiftlock.jobs job on job.name = ahead.job
order by job.name, ahead.run_key -- of two planners the second waits for the first, and never each for the other
on conflict (job_name, run_key) do update set status = 'pending', skip_reason = null, finished_at = null
where run.status = 'skipped' and run.skip_reason = 'superseded' and run.attempt = 0
  and run.next_run > clock_timestamp() and excluded.status = 'pending'
"""

PLANNED = """
update shiftlock.jobs as job set schedule = planned.schedule, planned_until = planned.until,
    scheduled_since = case when job.schedule is distinct from planned.schedule then clock_timestamp()
                           else scheduled_since end
from unnest(%(jobs)s::text[], %(schedules)s::text[], %(untils)s::timestamptz[]) as planned (job, schedule, until)
where job.name = planned.job
"""

FORGET = """
update shiftlock.jobs as job set schedule = null, planned_until = null
where name = any(%(removed)s) and not exists (
    select from shiftlock.job_runs where job_name = job.name and status = 'pending' and attempt = 0 and next_run = tick
)
"""


@dataclass(frozen=True, slots=True)
class Registered:
    """What the ledger knows of a job; now is the database's time. scheduled_since: when its schedule began to count."""

    name: str
    schedule: str | None
    planned_until: datetime | None
    scheduled_since: datetime | None
    paused: bool
    now: datetime


def registered(connection: psycopg.Connection, jobs: Sequence[str]) -> dict[str, Registered]:
    """What the ledger knows of these jobs, and of others that it has rows ahead for."""
    facts = {"jobs": list(jobs), "unseen": UNSEEN}
    found = connection.cursor(row_factory=class_row(Registered)).execute(REGISTERED, facts)
    return {row.name: row for row in found}


def see(connection: psycopg.Connection, jobs: Sequence[str]) -> None:
    """Note, now and then, that a scheduler has these jobs in its table."""
    connection.execute(SEE, {"jobs": list(jobs), "often": UNSEEN / 3})


def plan(connection: psycopg.Connection, rows: Sequence[tuple[str, Row]]) -> int:
    """Write the rows of these jobs that are not there yet; how many that were."""
    facts = {
        "jobs": [job for job, _ in rows],
        "keys": [row.run_key for _, row in rows],
        "ticks": [row.tick for _, row in rows],
        "gaps": [row.gap for _, row in rows],
    }
    return connection.execute(PLAN, facts).rowcount


def planned(connection: psycopg.Connection, until: Mapping[str, tuple[str, datetime]]) -> None:
    """Note by which schedule each job is planned now, and up to when."""
    facts = {
        "jobs": list(until),
        "schedules": [schedule for schedule, _ in until.values()],
        "untils": [end for _, end in until.values()],
    }
    connection.execute(PLANNED, facts)


def forget(connection: psycopg.Connection, removed: Sequence[str]) -> None:
    """Nothing is planned for these jobs any more, as soon as they have no planned run."""
    connection.execute(FORGET, {"removed": list(removed)})
