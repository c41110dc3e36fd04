"""What the job table has planned and the ledger has not: a pure function of both, for all jobs at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from handlers.declaration.cron import Cron
from handlers.declaration.job import Job
from handlers.planning.ahead import Row, plan_ahead
from handlers.planning.rows import Registered


@dataclass(frozen=True, slots=True)
class Missing:
    """Rows to plan, each with its job, and the jobs that they are of.

    until: by which schedule each of these jobs is planned then, and up to when. changed, new: those that have another
    schedule than the ledger knows, and those of which it knows none.
    """

    rows: tuple[tuple[str, Row], ...]
    until: Mapping[str, tuple[str, datetime]]
    changed: tuple[str, ...]
    new: tuple[str, ...]


def missing(jobs: Sequence[Job], known: Mapping[str, Registered], now: datetime) -> Missing:
    """What is missing of these jobs. known: what the ledger says of each of them."""
    rows: list[tuple[str, Row]] = []
    until: dict[str, tuple[str, datetime]] = {}
    changed: list[str] = []
    new: list[str] = []
    for job in jobs:
        noted = known[job.name].schedule
        before = job.schedule if noted == _text(job.schedule) else _schedule(noted)
        plan = plan_ahead(job.schedule, before=before, planned_until=known[job.name].planned_until, now=now)
        if plan is None:
            continue
        rows += [(job.name, row) for row in plan.rows]
        # A portion of what the old schedule missed leaves that on record until all of it has its rows.
        through = job.schedule if before is None or plan.until >= now else before
        until[job.name] = _text(through), plan.until
        if before is None:
            new.append(job.name)
        elif before != job.schedule:
            changed.append(job.name)
    return Missing(tuple(rows), until, tuple(changed), tuple(new))


def _text(schedule: Cron) -> str:
    return " ".join((*schedule.expression.split(), *([schedule.zone] if schedule.zone else [])))


def _schedule(text: str | None) -> Cron | None:
    """The schedule of a text that `_text` made; None without one, and for one that today's grammar does not take."""
    if text is None:
        return None
    *fields, last = text.split()
    schedule = Cron(" ".join(fields), last) if len(fields) == 6 else Cron(text)
    return schedule if not schedule.complaints() else None
