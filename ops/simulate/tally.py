"""What became of a job's ticks, counted from the ledger."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from handlers.declaration.job import Job
from ops.simulate.history import Run
from ops.simulate.play import Played
from ops.simulate.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Tally:
    """The count of one job.

    ticks: of its schedule. without_row: those of them that the ledger does not know (yet). open: rows that have not
    ended. skipped: by reason. caught_up: runs that were started because they had been missed.
    retried: runs with an attempt that failed and another after it. lost: runs whose process died over an attempt;
    recovered: those of them that succeeded in the end. unheard, doubled: bells that did not ring, or rang twice.
    latest: how long after its tick a run first started, at most.
    """

    job: str
    ticks: int
    succeeded: int
    failed: int
    unknown: int
    cancelled: int
    open: int
    without_row: int
    skipped: dict[str, int]
    caught_up: int
    retried: int
    lost: int
    recovered: int
    unheard: int
    doubled: int
    latest: timedelta


def tallies(scenario: Scenario, played: Played) -> list[Tally]:
    """One for each job, in the order of the table."""
    by_job: dict[str, list[Run]] = {job.name: [] for job in scenario.catalogue}
    for run in played.runs:
        by_job[run.job].append(run)
    return [_tally(job, by_job[job.name], scenario, played) for job in scenario.catalogue]


def _tally(job: Job, runs: list[Run], scenario: Scenario, played: Played) -> Tally:
    ticks = set(job.schedule.between(scenario.start, scenario.end))
    status = Counter(run.status for run in runs)
    return Tally(
        job=job.name,
        ticks=len(ticks),
        succeeded=status["succeeded"],
        failed=status["failed"],
        unknown=status["unknown"],
        cancelled=status["cancelled"],
        open=status["pending"] + status["running"],
        without_row=len(ticks - _known(runs)),
        skipped=dict(sorted(Counter(run.skip_reason for run in runs if run.skip_reason is not None).items())),
        caught_up=sum(run.trigger == "catch-up" for run in runs),
        retried=sum(run.failed > 0 and run.attempts > 1 for run in runs),
        lost=sum(run.lost > 0 for run in runs),
        recovered=sum(run.lost > 0 and run.status == "succeeded" for run in runs),
        unheard=played.unheard[job.name],
        doubled=played.doubled[job.name],
        latest=max((run.started_at - run.tick for run in runs if run.started_at is not None), default=timedelta()),
    )


def _known(runs: Iterable[Run]) -> set[datetime]:
    return {run.tick for run in runs if run.skip_reason != "dst"}
