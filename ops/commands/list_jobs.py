"""`jobs list`: what is scheduled, where it runs and why there, and how it went last."""

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from handlers.declaration.cron import BEGINNING, END
from handlers.declaration.job import Job
from handlers.declaration.placement import place
from handlers.schedule import SCHEDULE
from ops.as_json import print_json
from ops.commands.list_load import list_load
from ops.commands.list_nights import list_nights
from ops.configured import configured
from ops.refused import Refused
from ops.table import Cell, Table, open_console, status_text
from ops.wording import iso, later, minute, second, size, span, wall, when

if TYPE_CHECKING:
    from ops.ledger import LastRun

TITLES = ("job", "schedule", "zone", "next tick", "local time", "runs on", "size", "longest run")
LAST_RUN_TITLES = ("last run", "at (UTC)")
FOLDS = (("zone", "schedule"), ("local time", "next tick"), ("size", "runs on"))
LAST_RUN_FOLDS = (("at (UTC)", "last run"),)
NARROW_FOLDS = (("schedule", "job"), ("longest run", "runs on"))


def list_jobs(*, dst: bool, load: bool, start: datetime | None, as_json: bool) -> None:
    """Print the schedule, or what clock changes (dst) or one day's crowds (load) do to it. Raises Refused."""
    if dst and load:
        raise Refused("--dst and --load: allowed is one of the two")
    if start is not None and not (dst or load):
        raise Refused("--from: allowed is with --dst or --load; `jobs next --from TIME` has the ticks after a time")
    begin = min(max(start or datetime.now(UTC), BEGINNING), END)
    if dst:
        list_nights(SCHEDULE, begin, as_json=as_json)
    elif load:
        list_load(SCHEDULE, begin, as_json=as_json)
    else:
        _list_schedule(as_json=as_json)


def _list_schedule(*, as_json: bool) -> None:
    """With the last runs if a ledger is named and in reach."""
    now, (last, paused) = datetime.now(UTC), _last_runs()
    if as_json:
        print_json([_record(job, now, (last or {}).get(job.name), paused=job.name in paused) for job in SCHEDULE])
    elif last is None:
        rows = [(*_cells(job, now, paused=False), place(job).because) for job in SCHEDULE]
        table = Table((*TITLES, "because"), rows, folds=FOLDS + NARROW_FOLDS, note="because")
        open_console().print(table)
    else:
        rows = [
            (*_cells(job, now, paused=job.name in paused), *_last_cells(last.get(job.name)), place(job).because)
            for job in SCHEDULE
        ]
        folds = FOLDS + LAST_RUN_FOLDS + NARROW_FOLDS
        open_console().print(Table((*TITLES, *LAST_RUN_TITLES, "because"), rows, folds=folds, note="because"))


def _last_runs() -> "tuple[dict[str, LastRun] | None, frozenset[str]]":
    """The last runs and the paused jobs. None without a ledger; that one is out of reach is said, and ends nothing."""
    if (settings := configured()) is None:
        return None, frozenset()
    # Only here: without a ledger the list loads no database driver.
    from ops.exits import refusal
    from ops.ledger import last_runs, paused_jobs
    from ops.reading import reading

    try:
        with reading(settings) as ledger:
            return last_runs(ledger, [job.name for job in SCHEDULE]), paused_jobs(ledger)
    except Exception as error:
        if (no := refusal(error)) is None:
            raise
        print(f"jobs: last runs are not shown: {no.text}", file=sys.stderr)
        return None, frozenset()


def _cells(job: Job, now: datetime, *, paused: bool) -> list[Cell]:
    placement, tick, zone = place(job), job.schedule.next(now), job.schedule.zone
    return [
        job.name,
        when(job) + (f", {later(job)}" if job.spread else ""),
        (zone or "UTC") if job.scheduled else None,
        "paused" if paused else None if tick is None else minute(tick),
        None if tick is None or zone is None else wall(tick, zone),
        placement.compute,
        size(placement),
        span(job.longest_run),
    ]


def _last_cells(run: "LastRun | None") -> list[Cell]:
    if run is None:
        return [None, None]
    return [status_text(run.status, run.skip_reason), None if run.at is None else second(run.at)]


def _record(job: Job, now: datetime, last: "LastRun | None", *, paused: bool) -> dict[str, Any]:
    placement, tick = place(job), job.schedule.next(now)
    return {
        "job": job.name,
        "description": job.description,
        "schedule": job.schedule.expression if job.scheduled else None,
        "zone": (job.schedule.zone or "UTC") if job.scheduled else None,
        "queue": None
        if job.queue is None
        else {"concurrency": job.queue.concurrency, "batch": job.queue.batch, "fifo": job.queue.fifo},
        "spread_seconds": job.spread.total_seconds(),
        "next_tick": tick,
        "next_tick_local": tick and iso(tick, job.schedule.zone),
        "runs_on": {"compute": placement.compute, "memory_mb": placement.memory, "cpu_units": placement.cpu},
        "because": placement.because,
        "longest_run_seconds": job.longest_run.total_seconds(),
        "attempts": job.retry.attempts,
        "paused": paused,
        "last_run": last and asdict(last),
    }
