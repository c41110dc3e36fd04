"""When a person would have been called, by the alarms of `infra`: a pure function of what happened."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal

from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from infra.silence import silence_window
from ops.simulate.history import Run
from ops.wording import minute, span

Alarm = Literal["failed", "unknown", "late", "silent"]

# Of the alarms on single runs (infra/alarms.py): what happens while one is on calls nobody a second time.
PERIOD = minutes(5)


@dataclass(frozen=True, slots=True)
class Page:
    """One call. more: how many more of the same came while the alarm was on, the last at `until`."""

    at: datetime
    job: str
    alarm: Alarm
    because: str
    more: int
    until: datetime


def pages(jobs: Iterable[Job], runs: Sequence[Run], start: datetime, end: datetime) -> list[Page]:
    """All calls from `start` to `end`, in the order of time. Before `start` all was well."""
    by_job: dict[str, list[Run]] = {}
    for run in runs:
        by_job.setdefault(run.job, []).append(run)
    found = [page for job in jobs for page in _pages_of(job, by_job.get(job.name, []), start, end)]
    return sorted(found, key=lambda page: (page.at, page.job, page.alarm))


def _pages_of(job: Job, runs: Sequence[Run], start: datetime, end: datetime) -> Iterator[Page]:
    failed = [(run.ended_at, run) for run in runs if run.status == "failed" and run.ended_at is not None]
    unknown = [(run.ended_at, run) for run in runs if run.status == "unknown" and run.ended_at is not None]
    late = [
        (run.started_at, run)
        for run in runs
        if run.started_at is not None and run.started_at - run.tick > job.late_after
    ]
    yield from _alarm("failed", [(at, run, f"run {run.run_key} failed, {_tries(run)}") for at, run in failed])
    yield from _alarm("unknown", [(at, run, f"run {run.run_key} waits for a person's word") for at, run in unknown])
    yield from _alarm(
        "late", [(at, run, f"run {run.run_key} started {span(at - run.tick)} after its tick") for at, run in late]
    )
    yield from _silence(job, runs, start, end)


def _alarm(alarm: Alarm, events: Iterable[tuple[datetime, Run, str]]) -> Iterator[Page]:
    """A page for each time that the alarm goes on: it is over after a whole period without an event."""
    page: Page | None = None
    for at, run, because in sorted(events, key=lambda event: event[0]):
        if page is not None and _period(at) - _period(page.until) <= 1:
            page = Page(page.at, page.job, alarm, page.because, page.more + 1, at)
            continue
        if page is not None:
            yield page
        page = Page(at, run.job, alarm, because, 0, at)
    if page is not None:
        yield page


def _silence(job: Job, runs: Sequence[Run], start: datetime, end: datetime) -> Iterator[Page]:
    """A page when no run has succeeded for the whole window of the job's alarm."""
    window = silence_window(job)
    if window is None:
        return
    length = window.period * window.periods
    successes = sorted(run.ended_at for run in runs if run.status == "succeeded" and run.ended_at is not None)
    for before, after in pairwise([start, *successes, end]):
        if after - before > length:
            yield Page(before + length, job.name, "silent", f"no run has succeeded for {window.length}", 0, after)


def _period(at: datetime) -> int:
    return (at - datetime.min.replace(tzinfo=at.tzinfo)) // PERIOD


def _tries(run: Run) -> str:
    return f"{run.attempts} attempt{'' if run.attempts == 1 else 's'}"


def told(page: Page) -> str:
    """The page in words, without its time."""
    more = f", and {page.more} more until {minute(page.until)}" if page.more else ""
    return f"{page.job} {page.alarm}: {page.because}{more}"
