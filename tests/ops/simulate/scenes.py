"""Small catalogues and scenarios, and what came of them."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import Cron, every
from handlers.declaration.duration import minutes, seconds
from handlers.declaration.job import Job
from ops.simulate.outages import Outages, Span
from ops.simulate.play import Played
from ops.simulate.scenario import Scenario

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
EVERY_MINUTE = every(minutes=1)


def job(name: str = "tick", *, schedule: Cron = EVERY_MINUTE, **limits: Any) -> Job:
    """A job that is due each minute and whose attempts take a second."""
    facts: dict[str, Any] = {"longest_run": seconds(10), "start_within": minutes(1)}
    return Job(name, target="handlers.jobs.session_cleanup:run", schedule=schedule, **(facts | limits))


def scenario(*jobs: Job, start: datetime = START, lasting: timedelta = timedelta(hours=1), **facts: Any) -> Scenario:
    """A scenario of these jobs, in which nothing goes wrong but what is said."""
    return Scenario(catalogue=declare(*jobs), start=start, end=start + lasting, **facts)


def down(start: datetime, lasting: timedelta) -> Outages:
    """One outage."""
    return Outages((Span(start, start + lasting),))


def ends(played: Played, name: str = "tick") -> Counter[str]:
    """How many runs of the job ended how: `succeeded`, `skipped: cap`."""
    return Counter(
        run.status if run.skip_reason is None else f"{run.status}: {run.skip_reason}"
        for run in played.runs
        if run.job == name
    )


def caught_up(played: Played, name: str = "tick") -> list[datetime]:
    """The ticks of the job that were made up for, in the order of their starts."""
    runs = [run for run in played.runs if run.job == name and run.trigger == "catch-up" and run.started_at is not None]
    return [run.tick for run in sorted(runs, key=lambda run: run.started_at or run.tick)]
