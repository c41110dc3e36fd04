"""`jobs next`: the coming ticks of all jobs, merged."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from heapq import merge
from itertools import islice

from handlers.declaration.job import Job
from handlers.schedule import SCHEDULE
from ops.as_json import print_json
from ops.table import Table, open_console
from ops.wording import iso, minute, span, wall

END = datetime.max.replace(tzinfo=UTC)
TITLES = ("tick", "local time", "zone", "job", "from now")


def next_ticks(name: str | None, *, count: int, start: datetime | None, as_json: bool) -> None:
    """Print the `count` ticks from `start` (aware) on, now without it. Raises UnknownJob."""
    jobs = SCHEDULE if name is None else [SCHEDULE.find(name)]
    now = datetime.now(UTC)
    coming = list(islice(_merged(jobs, start or now), count))
    if as_json:
        print_json([_record(tick, job) for tick, job in coming])
    elif coming:
        titles = TITLES if start is None else TITLES[:-1]
        rows = [_cells(tick, job, now)[: len(titles)] for tick, job in coming]
        open_console().print(Table(titles, rows, folds=(("local time", "tick"), ("zone", "tick"))))
    else:
        print("no tick follows")


def _merged(jobs: Iterable[Job], start: datetime) -> Iterator[tuple[datetime, Job]]:
    return merge(*(_ticks(job, start) for job in jobs), key=lambda tick_and_job: tick_and_job[0])


def _ticks(job: Job, start: datetime) -> Iterator[tuple[datetime, Job]]:
    return ((tick, job) for tick in job.schedule.between(start, END))


def _cells(tick: datetime, job: Job, now: datetime) -> tuple[str | None, ...]:
    zone = job.schedule.zone
    return minute(tick), zone and wall(tick, zone), zone or "UTC", job.name, span(tick - now)


def _record(tick: datetime, job: Job) -> dict[str, object]:
    return {
        "job": job.name,
        "tick": tick,
        "local_time": iso(tick, job.schedule.zone),
        "zone": job.schedule.zone or "UTC",
    }
