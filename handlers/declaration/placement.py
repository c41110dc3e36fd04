"""Where a job runs, Lambda or Fargate, decided from its declared limits alone, with the reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from handlers.declaration.duration import seconds
from handlers.declaration.job import Job

# "Lambda quotas", AWS Lambda developer guide: timeout, memory allocation, /tmp storage.
LAMBDA_CEILING = seconds(900)
LAMBDA_MEMORY = range(128, 10_240 + 1)
LAMBDA_DISK = range(512, 10_240 + 1)

# Lambda ends a function at its timeout without running any clean-up, so an attempt is ended 10 s earlier; a start in
# a network with a database connection to open takes the rest.
START_AND_STOP_MARGIN = seconds(30)

# "Amazon ECS task definition parameters for Fargate", task size: CPU units with the memory (MB) each may have.
FARGATE_SIZES: tuple[tuple[int, tuple[int, ...]], ...] = (
    (256, (512, 1024, 2048)),
    (512, tuple(range(1024, 4 * 1024 + 1, 1024))),
    (1024, tuple(range(2 * 1024, 8 * 1024 + 1, 1024))),
    (2048, tuple(range(4 * 1024, 16 * 1024 + 1, 1024))),
    (4096, tuple(range(8 * 1024, 30 * 1024 + 1, 1024))),
    (8192, tuple(range(16 * 1024, 60 * 1024 + 1, 4 * 1024))),
    (16384, tuple(range(32 * 1024, 120 * 1024 + 1, 8 * 1024))),
)
FARGATE_MEMORY = FARGATE_SIZES[-1][1][-1]
# The same page, ephemeral storage: 20 GiB come with a task, 21 to 200 GiB can be asked for.
FARGATE_DISK = range(20 * 1024, 200 * 1024 + 1)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a job runs and how large: memory and disk in MB, cpu in Fargate's units (1024 is one vCPU)."""

    compute: Literal["lambda", "fargate"]
    memory: int
    cpu: int | None
    disk: int
    because: str


def place(job: Job, *, lambda_ceiling: timedelta = LAMBDA_CEILING) -> Placement:
    """The placement of a job without placement complaints; `lambda_ceiling` is the longest timeout of a Lambda."""
    reason = _beyond_lambda(job, lambda_ceiling)
    if job.compute == "fargate":
        reason = "the job asks for Fargate"
    if reason is None:
        memory, disk = max(job.memory, LAMBDA_MEMORY.start), max(job.disk, LAMBDA_DISK.start)
        return Placement("lambda", memory, None, disk, f"its limits fit Lambda's {_span(lambda_ceiling)}")
    cpu, memory = _fargate_size(job.memory)
    return Placement("fargate", memory, cpu, max(job.disk, FARGATE_DISK.start), reason)


def placement_complaints(job: Job) -> Iterator[str]:
    """Yield `field value: what is allowed` for each limit that no place can hold."""
    if not LAMBDA_MEMORY.start <= job.memory <= FARGATE_MEMORY:
        yield f"memory {job.memory}: allowed is {LAMBDA_MEMORY.start} to {FARGATE_MEMORY} MB"
    if not LAMBDA_DISK.start <= job.disk <= FARGATE_DISK[-1]:
        yield f"disk {job.disk}: allowed is {LAMBDA_DISK.start} to {FARGATE_DISK[-1]} MB"
    reason = _beyond_lambda(job, LAMBDA_CEILING)
    if job.compute == "lambda" and reason is not None:
        yield f"compute 'lambda': {reason}; allowed is auto or fargate"


def _beyond_lambda(job: Job, ceiling: timedelta) -> str | None:
    if job.longest_run + START_AND_STOP_MARGIN > ceiling:
        margin = _span(START_AND_STOP_MARGIN)
        return f"longest_run {_span(job.longest_run)} + {margin} margin passes Lambda's {ceiling.total_seconds():.0f} s"
    if job.memory > LAMBDA_MEMORY[-1]:
        return f"memory {job.memory:,} MB passes Lambda's {LAMBDA_MEMORY[-1]:,} MB"
    if job.disk > LAMBDA_DISK[-1]:
        return f"disk {job.disk:,} MB passes Lambda's {LAMBDA_DISK[-1]:,} MB"
    return None


def _fargate_size(memory: int) -> tuple[int, int]:
    """The smallest cpu and memory that hold `memory` MB."""
    for cpu, sizes in FARGATE_SIZES:
        for size in sizes:
            if size >= memory:
                return cpu, size
    raise ValueError(f"memory {memory}: allowed is at most {FARGATE_MEMORY} MB")


def _span(span: timedelta) -> str:
    whole = round(span.total_seconds())
    return f"{whole // 60} min" if whole >= 60 and whole % 60 == 0 else f"{whole} s"
