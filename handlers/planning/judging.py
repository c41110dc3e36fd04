"""The verdicts on what is due of all jobs, by their catch-up policies, and what is started first: pure functions."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.declaration.spread import offset
from handlers.planning.due import MOST_DUE
from handlers.planning.misfire import CATCHING_UP, Due, Start, Verdict, judge
from handlers.planning.rows import Registered


def oldest_of_latest(catalogue: Catalogue, due: Mapping[str, Sequence[Due]]) -> dict[str, str]:
    """The oldest key that is due of each job of which the latest tick makes up for all, to look no further back."""
    return {
        name: min(one.run_key for one in found if one.fresh)
        for name, found in due.items()
        if any(one.fresh for one in found) and catalogue.find(name).catch_up.mode == "latest"
    }


def verdicts(
    catalogue: Catalogue,
    known: Mapping[str, Registered],
    due: Mapping[str, Sequence[Due]],
    *,
    behind: Collection[str],
    started: Mapping[str, datetime],
    on_time: Callable[[Job], timedelta],
    rings: bool,
    now: datetime,
) -> Iterator[tuple[str, Verdict]]:
    """The verdicts, each with its job. behind: jobs of which more that was missed is to come.

    started: the newest tick that has had an attempt, for the jobs of `oldest_of_latest`. on_time, rings, now: see
    `misfire`; `spread` is added to on_time.
    """
    for job in catalogue:
        # A spread job is on time for as long as it may be rung; its own minute we know only where we ring.
        delay = offset(job.name, job.spread) if rings else job.spread
        for verdict in judge(
            job.catch_up,
            due[job.name],
            now=now,
            on_time=on_time(job) + delay,
            rings=rings,
            delay=delay,
            paused=known[job.name].paused,
            started=started.get(job.name),
            complete=job.name not in behind and sum(one.trigger != "queue" for one in due[job.name]) < MOST_DUE,
        ):
            yield job.name, verdict


def rank(start: Start) -> int:
    """What was missed by one job, or sent to it, holds up what is on time of no other."""
    return {"clock": 0, CATCHING_UP: 2, "queue": 3}.get(start.trigger, 1)
