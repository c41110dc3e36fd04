"""One pass over the ledger: plan ahead, take back what was lost, judge what is due.

Each part is bounded and safe beside itself, whoever else makes a pass at the same time. What is to be started is only
said: who made the pass knows how to start it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psycopg

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.guard.children import Settled, Waiting, settle_all
from handlers.planning.carry_out import CALL_AGAIN, skip
from handlers.planning.due import MOST_DUE, coming, due_runs, newest_started
from handlers.planning.judging import oldest_of_latest, rank, verdicts
from handlers.planning.lost import Lost, take_back
from handlers.planning.misfire import Due, Skip, Start, Verdict
from handlers.planning.superseded import off_schedule
from handlers.planning.upkeep import plan, registered


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
    again: timedelta = CALL_AGAIN,
) -> Pass:
    """Make one pass.

    connection: in autocommit. on_time, rings: see `misfire`; `spread` is added to on_time. lost_budget: how often a run
    may be lost before it has failed. off: names of jobs that have no schedule here: nothing is planned for them, and
    what a person has started goes on. again: how long the call of a run counts that has led to no claim. Raises
    psycopg.Error.
    """
    known = registered(connection, catalogue)
    at = max((one.now for one in known.values()), default=datetime.now(UTC))  # without any job nothing depends on it
    planned = plan(connection, [job for job in catalogue if job.scheduled and job.name not in off], known, at)
    lost = tuple(take_back(connection, catalogue, lost_budget))
    settled, waiting = settle_all(connection)
    found = due_runs(connection, [job.name for job in catalogue], again=again)
    due = _without(planned.superseded, _by_job(catalogue, found))
    strange = tuple(off_schedule(catalogue, known, due))
    due = _without(strange, due)
    oldest = oldest_of_latest(catalogue, due)
    started = newest_started(connection, oldest) if oldest else {}
    judged: list[tuple[str, Verdict]] = [
        *planned.superseded,
        *strange,
        *verdicts(catalogue, known, due, behind=planned.behind, started=started, on_time=on_time, rings=rings, now=at),
    ]
    skips = [(job, verdict) for job, verdict in judged if isinstance(verdict, Skip)]
    starts = [(catalogue.find(job), verdict) for job, verdict in judged if isinstance(verdict, Start)]
    gone = skip(connection, [one for _, one in skips]) if skips else set()
    return Pass(
        at,
        coming(connection),
        any(len(of_job) >= MOST_DUE for of_job in due.values()),
        planned.new,
        tuple((job, one) for job, one in skips if one.due.run_id in gone),
        lost,
        tuple(sorted(starts, key=lambda start: rank(start[1]))),
        tuple(settled),
        tuple(waiting),
    )


def _by_job(catalogue: Catalogue, found: list[tuple[str, Due]]) -> dict[str, list[Due]]:
    due: dict[str, list[Due]] = {job.name: [] for job in catalogue}
    for name, one in found:
        due[name].append(one)
    return due


def _without(skips: tuple[tuple[str, Skip], ...], due: dict[str, list[Due]]) -> dict[str, list[Due]]:
    gone = {one.due.run_id for _, one in skips}
    return {name: [one for one in of_job if one.run_id not in gone] for name, of_job in due.items()}
