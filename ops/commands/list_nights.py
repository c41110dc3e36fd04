"""`jobs list --dst`: the clock changes of the coming year that touch a job."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from handlers.declaration.job import Job
from handlers.declaration.nights import Night, nights
from ops.as_json import print_json
from ops.table import Table, open_console
from ops.wording import minute

YEAR = timedelta(days=365)
TITLES = ("job", "local time", "UTC", "zone", "what happens")


def list_nights(jobs: Iterable[Job], start: datetime, *, as_json: bool) -> None:
    """Print the nights of the year from `start` (aware) on."""
    scheduled = [job for job in jobs if job.scheduled]
    found = [(job, night) for job in scheduled for night in nights(job.schedule, start, start + YEAR)]
    found.sort(key=lambda job_and_night: job_and_night[1].change.instant)
    if as_json:
        print_json([_record(job, night) for job, night in found])
    elif found:
        rows = [_cells(job, night) for job, night in found]
        open_console().print(Table(TITLES, rows, folds=(("zone", "UTC"), ("UTC", "local time")), note="what happens"))
    else:
        print(f"no clock change touches a job before {start + YEAR:%Y-%m-%d}")


def what_happens(night: Night) -> str:
    """In a sentence: `skipped: clocks go from 02:00 to 03:00`."""
    change, many = night.change, len(night.walls)
    at = change.instant.replace(tzinfo=None)
    clocks = f"clocks go from {at + change.old:%H:%M} to {at + change.new:%H:%M}"
    match night.effect:
        case "skipped":
            return f"{'skipped' if many == 1 else f'{many} ticks skipped'}: {clocks}"
        case "once":
            runs = "it runs" if many == 1 else f"the {many} ticks run"
            return f"{clocks}, so this time comes twice: {runs} the first time alone"
    hours = 24 + (change.old - change.new) / timedelta(hours=1)
    return f"{night.ticks} ticks instead of {night.usual} on this day of {hours:g} hours: {clocks}"


def _cells(job: Job, night: Night) -> tuple[str, ...]:
    first, last = night.walls[0], night.walls[-1]
    if night.effect in ("fewer", "more"):
        local = f"{first:%Y-%m-%d}"
    else:
        local = f"{first:%Y-%m-%d %H:%M}" + (f" to {last:%H:%M}" if last != first else "")
    return job.name, local, minute(night.instants[0]), job.schedule.zone or "UTC", what_happens(night)


def _record(job: Job, night: Night) -> dict[str, object]:
    return {
        "job": job.name,
        "zone": job.schedule.zone or "UTC",
        "effect": night.effect,
        "clock_change": night.change.instant,
        "local_times": [wall.isoformat(timespec="minutes") for wall in night.walls],
        "utc": list(night.instants),
        "ticks_of_the_day": night.ticks or None,
        "usual_ticks": night.usual or None,
        "what_happens": what_happens(night),
    }
