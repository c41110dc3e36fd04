"""`jobs next`: the coming ticks of all jobs, merged."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from heapq import merge
from itertools import islice

from handlers.declaration.job import Job
from handlers.schedule import SCHEDULE
from ops.as_json import print_json
from ops.table import Table, open_console
from ops.wording import iso, later, minute, span, wall

END = datetime.max.replace(tzinfo=UTC)
TITLES = ("tick", "local time", "zone", "job", "from now", "starts")


def next_ticks(name: str | None, *, count: int, start: datetime | None, as_json: bool) -> None:
    """Print the `count` ticks from `start` (aware) on, now without it. Raises UnknownJob."""
    jobs = SCHEDULE if name is None else [SCHEDULE.find(name)]
    now = datetime.now(UTC)
    coming = list(islice(_merged(jobs, start or now), count))
    if as_json:
        print_json([_record(tick, job) for tick, job in coming])
    elif coming:
        shown = [title for title in TITLES if title != "from now" or start is None]
        if not any(job.spread for _, job in coming):
            shown.remove("starts")
        rows = [[cell for title, cell in _cells(tick, job, now) if title in shown] for tick, job in coming]
        open_console().print(Table(shown, rows, folds=(("local time", "tick"), ("zone", "tick"))))
    elif not any(job.scheduled for job in jobs):
        print("no tick follows: " + ", ".join(f"{job.name} is started by messages" for job in jobs))
    else:
        print("no tick follows")


def _merged(jobs: Iterable[Job], start: datetime) -> Iterator[tuple[datetime, Job]]:
    return merge(*(_ticks(job, start) for job in jobs), key=lambda tick_and_job: tick_and_job[0])


def _ticks(job: Job, start: datetime) -> Iterator[tuple[datetime, Job]]:
    return ((tick, job) for tick in job.schedule.between(start, END))


def _cells(tick: datetime, job: Job, now: datetime) -> Iterator[tuple[str, str | None]]:
    """Each cell under its title."""
    zone = job.schedule.zone
    starts = later(job) if job.spread else None
    cells = minute(tick), zone and wall(tick, zone), zone or "UTC", job.name, span(tick - now), starts
    return zip(TITLES, cells, strict=True)


def _record(tick: datetime, job: Job) -> dict[str, object]:
    return {
        "job": job.name,
        "tick": tick,
        "local_time": iso(tick, job.schedule.zone),
        "zone": job.schedule.zone or "UTC",
        "spread_seconds": job.spread.total_seconds(),
    }
