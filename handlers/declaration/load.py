"""How many runs a job table starts at once, and how many vCPU of Fargate they take together."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from handlers.declaration.gaps import shortest_gap
from handlers.declaration.job import Job
from handlers.declaration.placement import LAMBDA_CEILING, place
from handlers.declaration.spread import MINUTE, offset

CPU_UNITS = 1024  # of Fargate, per vCPU
# "AWS Fargate service quotas", Fargate On-Demand vCPU resource count: per account and region, can be raised.
VCPU_QUOTA = 6


@dataclass(frozen=True, slots=True)
class Peak:
    """The first minute with the largest sum of vCPU, and the jobs that run then, each with its vCPU in all."""

    at: datetime
    vcpu: float
    jobs: Mapping[str, float]


def starts(jobs: Iterable[Job], begin: datetime, end: datetime) -> Mapping[datetime, tuple[str, ...]]:
    """The names of the jobs that start in each minute (UTC) from `begin` up to `end`, in the order of time.

    Where in a flexible window Scheduler starts a job is its own choice: it is counted where a rule would start it.
    """
    found: dict[datetime, list[str]] = defaultdict(list)
    for job in jobs:
        for at in _start_times(job, begin, end):
            found[at].append(job.name)
    return {at: tuple(found[at]) for at in sorted(found)}


def peak(
    jobs: Iterable[Job], begin: datetime, end: datetime, *, lambda_ceiling: timedelta = LAMBDA_CEILING
) -> Peak | None:
    """The peak from `begin` up to `end`; None when nothing runs on Fargate then.

    A run takes `longest_run`, and no second run of its job goes on beside it unless `overlap` allows that.
    """
    begin = begin.replace(second=0, microsecond=0)
    changes: dict[datetime, list[tuple[str, float]]] = defaultdict(list)
    for job in jobs:
        vcpu = _vcpu(job, lambda_ceiling)
        for since, until in _busy(job, begin, end) if vcpu else ():
            changes[max(since, begin)].append((job.name, vcpu))
            changes[until].append((job.name, -vcpu))
    running: dict[str, float] = defaultdict(float)
    highest: Peak | None = None
    for at in sorted(changes):
        for name, vcpu in changes[at]:
            running[name] += vcpu
        total = sum(running.values())
        if total > (0 if highest is None else highest.vcpu):
            largest_first = sorted(running.items(), key=lambda job: (-job[1], job[0]))
            highest = Peak(at, total, {name: vcpu for name, vcpu in largest_first if vcpu})
    return highest


def most_vcpu(jobs: Iterable[Job], *, lambda_ceiling: timedelta = LAMBDA_CEILING) -> float:
    """The vCPU that all ticks take if they ever run together: no peak is higher, and no calendar need be read.

    How many workers take messages beside them is their queues' to say.
    """
    return sum(_vcpu(job, lambda_ceiling) * _at_once(job) for job in jobs)


def workers_vcpu(jobs: Iterable[Job], *, lambda_ceiling: timedelta = LAMBDA_CEILING) -> dict[str, float]:
    """The vCPU of all workers that the queue of each job may have at once, for those that have any."""
    vcpu = {job.name: _vcpu(job, lambda_ceiling) * job.queue.concurrency for job in jobs if job.queue is not None}
    return {name: each for name, each in vcpu.items() if each}


def _vcpu(job: Job, lambda_ceiling: timedelta) -> float:
    return (place(job, lambda_ceiling=lambda_ceiling).cpu or 0) / CPU_UNITS


def _at_once(job: Job) -> int:
    if not job.scheduled:
        return 0
    return -(-job.longest_run // shortest_gap(job.schedule)) if job.overlap == "allow" else 1


def _start_times(job: Job, begin: datetime, end: datetime) -> Iterator[datetime]:
    later = offset(job.name, job.spread)
    return (tick + later for tick in job.schedule.between(begin - later, end - later))


def _busy(job: Job, begin: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield when runs begin and end, of those that go on after `begin` and begin before `end`."""
    lasting = -(-job.longest_run // MINUTE) * MINUTE
    since = until = None
    for start in _start_times(job, begin - lasting + MINUTE, end):
        if job.overlap != "allow" and until is not None and start <= until:
            until = start + lasting
            continue
        if since is not None and until is not None:
            yield since, until
        since, until = start, start + lasting
    if since is not None and until is not None:
        yield since, until
