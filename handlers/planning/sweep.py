"""One pass over the ledger: plan ahead, take back what was lost, judge what is due.

Each part is bounded and safe beside itself, whoever else makes a pass at the same time. What is to be started is only
said: who made the pass knows how to start it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psycopg

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import Cron
from handlers.declaration.job import Job
from handlers.declaration.spread import offset
from handlers.guard.children import Settled, Waiting, settle_all
from handlers.guard.lock import register
from handlers.guard.rescue import rescue
from handlers.planning import rows
from handlers.planning.ahead import Row, plan_ahead
from handlers.planning.misfire import CATCHING_UP, Due, Skip, Start, Verdict, judge


@dataclass(frozen=True, slots=True)
class Lost:
    """A run that was taken from a silent holder, and the state it is in now."""

    job: str
    run_id: int
    status: str
    holder: str | None


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass did and found. at: database time. starts: what to start, each with its job, first things first.

    coming: when there will be something to do again, if nobody does anything before. more: there was more due than one
    pass judges, and the next goes on with it. settled, waiting: runs that have ended with their children, or go on.
    """

    at: datetime
    coming: datetime | None
    more: bool
    planned: int
    skipped: tuple[tuple[str, Skip], ...]
    lost: tuple[Lost, ...]
    starts: tuple[tuple[Job, Start], ...]
    settled: tuple[Settled, ...] = ()
    waiting: tuple[Waiting, ...] = ()


def sweep(
    connection: psycopg.Connection,
    catalogue: Catalogue,
    *,
    on_time: Callable[[Job], timedelta],
    rings: bool,
    lost_budget: int,
    off: Collection[str] = (),
    again: timedelta = rows.CALL_AGAIN,
) -> Pass:
    """Make one pass.

    connection: in autocommit. on_time, rings: see `misfire`; `spread` is added to on_time. lost_budget: how often a run
    may be lost before it has failed. off: names of jobs that have no schedule here: nothing is planned for them, and
    what a person has started goes on. again: how long the call of a run counts that has led to no claim. Raises
    psycopg.Error.
    """
    known = _registered(connection, catalogue)
    at = max((one.now for one in known.values()), default=datetime.now(UTC))  # without any job nothing depends on it
    planned, behind, superseded = _plan(
        connection, [job for job in catalogue if job.scheduled and job.name not in off], known, at
    )
    lost = tuple(_rescue(connection, catalogue, lost_budget))
    settled, waiting = settle_all(connection)
    due: dict[str, list[Due]] = {job.name: [] for job in catalogue}
    gone_already = {skip.due.run_id for _, skip in superseded}
    for name, one in rows.due_runs(connection, list(due), again=again):
        if one.run_id not in gone_already:
            due[name].append(one)
    verdicts: list[tuple[str, Verdict]] = [
        *superseded,
        *_strange(catalogue, known, due),
        *_judge(connection, catalogue, known, due, behind, on_time=on_time, rings=rings, now=at),
    ]
    skips = [(job, verdict) for job, verdict in verdicts if isinstance(verdict, Skip)]
    starts = [(catalogue.find(job), verdict) for job, verdict in verdicts if isinstance(verdict, Start)]
    gone = rows.skip(connection, [skip for _, skip in skips]) if skips else set()
    return Pass(
        at,
        rows.coming(connection),
        any(len(found) >= rows.MOST_DUE for found in due.values()),
        planned,
        tuple((job, skip) for job, skip in skips if skip.due.run_id in gone),
        lost,
        tuple(sorted(starts, key=lambda start: _rank(start[1]))),
        tuple(settled),
        tuple(waiting),
    )


def _rank(start: Start) -> int:
    """What was missed by one job, or sent to it, holds up what is on time of no other."""
    return {"clock": 0, CATCHING_UP: 2, "queue": 3}.get(start.trigger, 1)


def _registered(connection: psycopg.Connection, catalogue: Catalogue) -> dict[str, rows.Registered]:
    names = [job.name for job in catalogue]
    known = rows.registered(connection, names)
    if not known.keys() >= set(names):
        register(connection, [name for name in names if name not in known])
        known = rows.registered(connection, names)
    rows.see(connection, names)
    return known


def _plan(
    connection: psycopg.Connection, jobs: Sequence[Job], known: dict[str, rows.Registered], now: datetime
) -> tuple[int, set[str], list[tuple[str, Skip]]]:
    """Plan what is missing.

    How many rows are new, the jobs of which not all that was missed has its row yet, and the rows that a change of the
    table has superseded.
    """
    missing: list[tuple[str, Row]] = []
    until: dict[str, tuple[str, datetime]] = {}
    changed: list[str] = []
    new: list[str] = []
    for job in jobs:
        noted = known[job.name].schedule
        before = job.schedule if noted == _text(job.schedule) else _schedule(noted)
        plan = plan_ahead(job.schedule, before=before, planned_until=known[job.name].planned_until, now=now)
        if plan is None:
            continue
        missing += [(job.name, row) for row in plan.rows]
        # A portion of what the old schedule missed leaves that on record until all of it has its rows.
        through = job.schedule if before is None or plan.until >= now else before
        until[job.name] = _text(through), plan.until
        if before is None:
            new.append(job.name)
        elif before != job.schedule:
            changed.append(job.name)
    written = rows.plan(connection, missing) if missing else 0
    if until:
        rows.planned(connection, until)
    removed = list(known.keys() - {job.name for job in jobs})
    superseded = list(_superseded(connection, jobs, changed, removed, new)) if changed or removed or new else []
    if removed:
        rows.forget(connection, removed)
    return written, {name for name, (_, end) in until.items() if end < now}, superseded


def _superseded(
    connection: psycopg.Connection,
    jobs: Sequence[Job],
    changed: Sequence[str],
    removed: Sequence[str],
    new: Sequence[str],
) -> Iterator[tuple[str, Skip]]:
    schedules = {job.name: job.schedule for job in jobs}
    for name, due in rows.without_reason(connection, changed=changed, removed=removed, new=new):
        if name not in schedules:
            yield name, Skip(due, "superseded", "the job has no schedule any more")
        elif name in new:
            yield name, Skip(due, "superseded", "the job had no schedule then")
        elif schedules[name].previous(due.due_at) != due.due_at:
            yield name, Skip(due, "superseded", "the schedule has changed")


def _strange(
    catalogue: Catalogue, known: dict[str, rows.Registered], due: dict[str, list[Due]]
) -> Iterator[tuple[str, Skip]]:
    """Take out of `due` what is no tick of the schedule that counts since before it, and supersede it.

    A process that began before the change has planned it at its end, or a pass that made the change was cut short.
    """
    for job in catalogue:
        since = known[job.name].scheduled_since
        for one in list(due[job.name]):
            if (
                one.fresh
                and since is not None
                and one.due_at > since
                and job.schedule.previous(one.due_at) != one.due_at
            ):
                due[job.name].remove(one)
                yield job.name, Skip(one, "superseded", "the schedule has changed")


def _rescue(connection: psycopg.Connection, catalogue: Catalogue, lost_budget: int) -> Iterator[Lost]:
    policies = {job.name: job.on_lost for job in catalogue}
    for run in rows.lost_runs(connection):
        # Nobody can start a job that has left the table: a person decides.
        status = rescue(connection, run, on_lost=policies.get(run.job, "hold"), lost_budget=lost_budget)
        if status is not None:
            yield Lost(run.job, run.run_id, status, run.holder)


def _judge(
    connection: psycopg.Connection,
    catalogue: Catalogue,
    known: dict[str, rows.Registered],
    due: dict[str, list[Due]],
    behind: Collection[str],
    *,
    on_time: Callable[[Job], timedelta],
    rings: bool,
    now: datetime,
) -> list[tuple[str, Verdict]]:
    oldest = {
        name: min(one.run_key for one in found if one.fresh)
        for name, found in due.items()
        if any(one.fresh for one in found) and catalogue.find(name).catch_up.mode == "latest"
    }
    started = rows.newest_started(connection, oldest) if oldest else {}
    verdicts: list[tuple[str, Verdict]] = []
    for job in catalogue:
        # A spread job is on time for as long as it may be rung; its own minute we know only where we ring.
        delay = offset(job.name, job.spread) if rings else job.spread
        verdicts += (
            (job.name, verdict)
            for verdict in judge(
                job.catch_up,
                due[job.name],
                now=now,
                on_time=on_time(job) + delay,
                rings=rings,
                delay=delay,
                paused=known[job.name].paused,
                started=started.get(job.name),
                complete=job.name not in behind
                and sum(one.trigger != "queue" for one in due[job.name]) < rows.MOST_DUE,
            )
        )
    return verdicts


def _text(schedule: Cron) -> str:
    return " ".join((*schedule.expression.split(), *([schedule.zone] if schedule.zone else [])))


def _schedule(text: str | None) -> Cron | None:
    """The schedule of a text that `_text` made; None without one, and for one that today's grammar does not take."""
    if text is None:
        return None
    *fields, last = text.split()
    schedule = Cron(" ".join(fields), last) if len(fields) == 6 else Cron(text)
    return schedule if not schedule.complaints() else None
