"""Which planned runs a change of the job table has left without a reason: pure functions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from handlers.declaration.job import Job
from handlers.planning.misfire import Due, Skip
from handlers.planning.rows import Registered


def left_behind(
    jobs: Iterable[Job], found: Iterable[tuple[str, Due]], *, new: Collection[str]
) -> Iterator[tuple[str, Skip]]:
    """Those of `found` that no schedule of these jobs has as its tick, and those of before a job was new."""
    schedules = {job.name: job.schedule for job in jobs}
    for name, due in found:
        if name not in schedules:
            yield name, Skip(due, "superseded", "the job has no schedule any more")
        elif name in new:
            yield name, Skip(due, "superseded", "the job had no schedule then")
        elif schedules[name].previous(due.due_at) != due.due_at:
            yield name, Skip(due, "superseded", "the schedule has changed")


def off_schedule(
    jobs: Iterable[Job], known: Mapping[str, Registered], due: Mapping[str, Sequence[Due]]
) -> Iterator[tuple[str, Skip]]:
    """What is due and no tick of the schedule that counts since before it.

    A process that began before the change has planned it at its end, or a pass that made the change was cut short.
    """
    for job in jobs:
        since = known[job.name].scheduled_since
        for one in due[job.name]:
            if (
                one.fresh
                and since is not None
                and one.due_at > since
                and job.schedule.previous(one.due_at) != one.due_at
            ):
                yield job.name, Skip(one, "superseded", "the schedule has changed")
