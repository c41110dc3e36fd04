"""Where a job runs, Lambda or Fargate, decided from its declared limits alone, with the reason."""

from collections.abc import Iterator, Sequence
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
FARGATE_SIZES: tuple[tuple[int, Sequence[int]], ...] = (
    (256, (512, 1024, 2048)),
    (512, range(1024, 4096 + 1, 1024)),
    (1024, range(2048, 8192 + 1, 1024)),
    (2048, range(4096, 16_384 + 1, 1024)),
    (4096, range(8192, 30_720 + 1, 1024)),
    (8192, range(16_384, 61_440 + 1, 4096)),
    (16_384, range(32_768, 122_880 + 1, 8192)),
)
FARGATE_MEMORY = FARGATE_SIZES[-1][1][-1]
# The same page, ephemeral storage: 20 GiB come with a task, 21 to 200 GiB can be asked for.
FARGATE_DISK = range(20_480, 204_800 + 1)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a job runs and how large: memory and disk in MB, cpu in Fargate's units (1024 is one vCPU)."""

    compute: Literal["lambda", "fargate"]
    memory: int
    cpu: int | None
    disk: int
    because: str


def place(job: Job, *, lambda_ceiling: timedelta = LAMBDA_CEILING) -> Placement:
    """The placement of a job that has no placement complaints; `lambda_ceiling` is the longest timeout of a Lambda."""
    reason = "the job asks for Fargate" if job.compute == "fargate" else _beyond_lambda(job, lambda_ceiling)
    if reason is None:
        because = f"{_lasting(job)} fits Lambda's {_seconds(lambda_ceiling)}"
        return Placement("lambda", job.memory, None, job.disk, because)
    cpu, memory = fargate_size(job.memory)
    return Placement("fargate", memory, cpu, max(job.disk, FARGATE_DISK.start), reason)


def placement_complaints(job: Job) -> Iterator[str]:
    """Yield `field value: what is allowed` for each limit that no place can hold."""
    if not LAMBDA_MEMORY.start <= job.memory <= FARGATE_MEMORY:
        yield f"memory {job.memory}: allowed is {LAMBDA_MEMORY.start} to {FARGATE_MEMORY:,} MB"
    if not LAMBDA_DISK.start <= job.disk <= FARGATE_DISK[-1]:
        yield f"disk {job.disk}: allowed is {LAMBDA_DISK.start} to {FARGATE_DISK[-1]:,} MB"
    reason = _beyond_lambda(job, LAMBDA_CEILING)
    if job.compute == "lambda" and reason is not None:
        yield f"compute 'lambda': {reason}; allowed is auto or fargate"


def _beyond_lambda(job: Job, ceiling: timedelta) -> str | None:
    if job.longest_run + START_AND_STOP_MARGIN > ceiling:
        return f"{_lasting(job)} passes Lambda's {_seconds(ceiling)}"
    if job.memory > LAMBDA_MEMORY[-1]:
        return f"memory {job.memory:,} MB passes Lambda's {LAMBDA_MEMORY[-1]:,} MB"
    if job.disk > LAMBDA_DISK[-1]:
        return f"disk {job.disk:,} MB passes Lambda's {LAMBDA_DISK[-1]:,} MB"
    return None


def fargate_size(memory: int) -> tuple[int, int]:
    """The smallest cpu and memory that hold `memory` MB."""
    for cpu, sizes in FARGATE_SIZES:
        for size in sizes:
            if size >= memory:
                return cpu, size
    raise ValueError(f"memory {memory}: allowed is at most {FARGATE_MEMORY:,} MB")


def _lasting(job: Job) -> str:
    whole = job.longest_run.total_seconds()
    span = f"{whole / 60:.0f} min" if whole >= 60 and whole % 60 == 0 else f"{whole:g} s"
    return f"longest_run {span} + {_seconds(START_AND_STOP_MARGIN)} margin"


def _seconds(span: timedelta) -> str:
    return f"{span.total_seconds():,.0f} s"
