"""How large the task of a clock must be for the jobs that run in it: a pure function of the job table."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain, repeat

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.declaration.placement import FARGATE_DISK, FARGATE_MEMORY, fargate_size

# MB for the clock itself and the init process of the task, beside the jobs: it takes about 40.
CLOCK_MEMORY = 256
# `SHIFTLOCK_CHILDREN`, handlers.runtime.settings.
MOST_CHILDREN = 200


@dataclass(frozen=True, slots=True)
class ClockSize:
    """Memory and disk in MB, cpu in Fargate's units (1024 is one vCPU)."""

    cpu: int
    memory: int
    disk: int


def clock_size(catalogue: Catalogue, children: int) -> ClockSize:
    """The smallest task that holds the `children` largest jobs at once, for a table without complaints.

    The memory limit is the whole task's, and what passes it ends the clock and every job in it: so it is a sum, and
    not the largest job alone. cpu is what comes with the memory: too little of it makes jobs slow and ends none.
    """
    cpu, memory = fargate_size(_memory(catalogue, children))
    return ClockSize(cpu, memory, max(_disk(catalogue, children), FARGATE_DISK.start))


def clock_complaints(catalogue: Catalogue, children: int) -> Iterator[str]:
    """Yield `field value: what is allowed` when no task can hold so many jobs at once."""
    if not 1 <= children <= MOST_CHILDREN:
        yield f"clock_children {children}: allowed is 1 to {MOST_CHILDREN}"
        return
    for what, needed, most in (
        ("memory", _memory(catalogue, children), FARGATE_MEMORY),
        ("disk", _disk(catalogue, children), FARGATE_DISK[-1]),
    ):
        if needed > most:
            yield (
                f"clock_children {children}: the largest jobs need {needed:,} MB of {what} together; "
                f"allowed is as many as fit a task's {most:,} MB"
            )


def _memory(catalogue: Catalogue, children: int) -> int:
    return CLOCK_MEMORY + sum(nlargest(children, (job.memory for job in _at_once(catalogue, children))))


def _disk(catalogue: Catalogue, children: int) -> int:
    return sum(nlargest(children, (job.disk for job in _at_once(catalogue, children))))


def _at_once(catalogue: Catalogue, children: int) -> Iterator[Job]:
    """Each job as often as it may run at once: without bounds if it may overlap itself, as messages do."""
    return chain.from_iterable(repeat(job, children if _overlaps(job) else 1) for job in catalogue)


def _overlaps(job: Job) -> bool:
    """Whether runs of the job go on beside each other, with nothing but the clock's own bound to their number."""
    return job.overlap == "allow" or job.queue is not None
