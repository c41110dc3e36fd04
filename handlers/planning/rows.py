"""The ledger's side of planning: each statement is safe beside itself, so any number of schedulers may run at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row, dict_row

from handlers.guard.rescue import LostRun
from handlers.planning.ahead import Row
from handlers.planning.misfire import Due, Skip

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

FORGET = """
update shiftlock.jobs as job set schedule = null, planned_until = null
where name = any(%(removed)s) and not exists (
    select from shiftlock.job_runs where job_name = job.name and status = 'pending' and attempt = 0 and next_run = tick
)
"""

LOST = """
select job_name as job, id as run_id, fence, backend_pid, backend_start, holder from shiftlock.job_runs
where status = 'running' and lease_until <= clock_timestamp() order by lease_until limit 100
for update skip locked -- one that somebody else is at must not hold up all others
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

SKIP = """
update shiftlock.job_runs as run
set status = 'skipped', skip_reason = verdict.reason, finished_at = clock_timestamp()
from unnest(%(runs)s::bigint[], %(reasons)s::text[]) as verdict (run_id, reason)
where run.id = verdict.run_id and run.id in (
    select id from shiftlock.job_runs
    where id = any(%(runs)s) and status = 'pending' and attempt = 0 and not waiting for update skip locked
)
returning run.id
"""

# A run of a holder that is well is looked at once a lease: its lease has been renewed by then.
COMING = """
select least(
    (select min(next_run) from shiftlock.job_runs where status = 'pending' and next_run > clock_timestamp()),
    (select min(lease_until) from shiftlock.job_runs where status = 'running')
)
"""

# Compare and swap: of many schedulers one gets the row and starts a process for it. Should that come to nothing, the
# run may be called again after CALL_AGAIN; one that has been claimed since, and is due again, at once.
CALL = """
update shiftlock.job_runs set called_at = clock_timestamp()
where id in (
    select id from shiftlock.job_runs
    where id = any(%(runs)s) and status = 'pending' and next_run <= clock_timestamp()
      and (called_at is null or called_at <= clock_timestamp() - %(again)s or called_at <= last_run
           or called_at > clock_timestamp()) -- the clock was set back
    for update skip locked
)
returning id
"""

CALL_AGAIN = timedelta(seconds=20)  # a child of ours has claimed its run by then, or has come to nothing


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


def lost_runs(connection: psycopg.Connection) -> list[LostRun]:
    """Running runs whose lease has ended, at most 100, the longest lost first."""
    return connection.cursor(row_factory=class_row(LostRun)).execute(LOST).fetchall()


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


def forget(connection: psycopg.Connection, removed: Sequence[str]) -> None:
    """Nothing is planned for these jobs any more, as soon as they have no planned run."""
    connection.execute(FORGET, {"removed": list(removed)})


def newest_started(connection: psycopg.Connection, oldest: Mapping[str, str]) -> dict[str, datetime]:
    """The newest tick of each job that has had an attempt, if it is not before the tick with the key in `oldest`."""
    return dict(connection.execute(NEWEST_STARTED, {"jobs": list(oldest), "oldest": list(oldest.values())}).fetchall())


def coming(connection: psycopg.Connection) -> datetime | None:
    """When the next pending run is due or the next lease ends, whichever comes first."""
    row = connection.execute(COMING).fetchone()
    return None if row is None else row[0]


def skip(connection: psycopg.Connection, skips: Iterable[Skip]) -> set[int]:
    """Let untouched runs end skipped; the ids of those that were still untouched."""
    verdicts = {one.due.run_id: one.reason for one in skips}
    facts = {"runs": list(verdicts), "reasons": list(verdicts.values())}
    return {run_id for (run_id,) in connection.execute(SKIP, facts)}


def call(connection: psycopg.Connection, runs: Sequence[int], *, again: timedelta = CALL_AGAIN) -> set[int]:
    """Take it upon this process to start these runs; the ids of those that nobody else is about to start.

    again: how long a call counts that has led to no claim.
    """
    return {run_id for (run_id,) in connection.execute(CALL, {"runs": list(runs), "again": again})}


def _pending(connection: psycopg.Connection, query: LiteralString, facts: dict[str, Any]) -> list[tuple[str, Due]]:
    found = connection.cursor(row_factory=dict_row).execute(query, facts)
    return [(row.pop("job"), Due(**row)) for row in found]
