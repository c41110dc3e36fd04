"""What a deploy should know and need not stop for: shown by `cdk synth`, `diff` and `deploy` as warnings."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from aws_cdk import Annotations
from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.declaration.load import most_vcpu, peak, workers_vcpu
from handlers.declaration.nights import Night, nights
from infra.connections import available, wanted
from infra.environment import Environment
from infra.surroundings import OwnDatabase

YEAR = timedelta(days=365)
# Of the times that one night skips: more of them would say no more.
NAMED_TIMES = 3


@dataclass(frozen=True, slots=True)
class SynthWarning:
    """A line for people, and the name by which CDK would have it acknowledged."""

    id: str
    text: str


def warn(scope: Construct, environment: Environment, catalogue: Catalogue, now: datetime) -> None:
    """Annotate a construct with the warnings of an environment."""
    for warning in warnings(environment, catalogue, now):
        Annotations.of(scope).add_warning_v2(f"shiftlock:{warning.id}", warning.text)


def warnings(environment: Environment, catalogue: Catalogue, now: datetime) -> Iterator[SynthWarning]:
    """Yield what the year from `now` (aware) on brings to the jobs that AWS starts, and what they may need at once."""
    jobs = [job for job in catalogue if job.name not in environment.schedules_off]
    for job in jobs:
        if not job.scheduled:
            continue
        if job.schedule.next(now) is None:
            yield SynthWarning(f"over:{job.name}", _over(job, now))
        for night in nights(job.schedule, now, now + YEAR):
            if night.effect == "skipped":
                yield SynthWarning(f"skipped:{job.name}:{night.walls[0]:%Y-%m-%d}", _skipped(job, night))
    yield from _crowded(environment, jobs, now)
    yield from _connected(environment, jobs)


def _over(job: Job, now: datetime) -> str:
    last = job.schedule.previous(now)
    when = "" if last is None else f": its last tick was {last:%Y-%m-%dT%H:%MZ}"
    return f"{job.name} never fires any more{when}; take it out of handlers/schedule.py, or give it another schedule"


def _skipped(job: Job, night: Night) -> str:
    named = [f"{wall:%H:%M}" for wall in night.walls[:NAMED_TIMES]]
    more = f" and {len(night.walls) - NAMED_TIMES} more" if len(night.walls) > NAMED_TIMES else ""
    return (
        f"{job.name} is skipped on {night.walls[0]:%Y-%m-%d}: no {', '.join(named)}{more} in {job.schedule.zone}, "
        "where clocks go forward; choose another hour if it must run that night"
    )


def _crowded(environment: Environment, jobs: list[Job], now: datetime) -> Iterator[SynthWarning]:
    if environment.scheduler == "clock":  # which runs the jobs within its own task
        return
    quota, ceiling = environment.vcpu_quota, environment.lambda_ceiling
    workers = workers_vcpu(jobs, lambda_ceiling=ceiling)
    scheduled = [job for job in jobs if job.scheduled]
    if most_vcpu(scheduled, lambda_ceiling=ceiling) + sum(workers.values()) <= quota:
        return
    highest = peak(scheduled, now, now + YEAR, lambda_ceiling=ceiling)
    at, needed = (now, {}) if highest is None else (highest.at, dict(highest.jobs))
    total = sum(needed.values()) + sum(workers.values())
    if total <= quota:
        return
    needed |= {f"workers of {name}": vcpu for name, vcpu in workers.items()}
    each = ", ".join(f"{name} {vcpu:g}" for name, vcpu in needed.items())
    yield SynthWarning(
        "vcpu-quota",
        f"{total:g} vCPU of Fargate are needed at {at:%Y-%m-%dT%H:%MZ} ({each}), and the quota of "
        f"{environment.name} is {quota}: move the jobs apart, or have AWS raise the account's Fargate On-Demand vCPU "
        "resource count, then vcpu_quota in infra/environments.py",
    )


def _connected(environment: Environment, jobs: list[Job]) -> Iterator[SynthWarning]:
    found, most = wanted(jobs, environment), available(environment)
    if most is None or not isinstance(environment.database, OwnDatabase) or sum(found.values()) <= most:
        return
    each = ", ".join(f"{name} {count}" for name, count in found.items())
    yield SynthWarning(
        "connections",
        f"{sum(found.values())} connections to PostgreSQL may be wanted at once ({each}), and "
        f"{environment.database.instance} of {environment.name} has about {most}: lower queue.concurrency, or choose a "
        "larger instance in infra/environments.py",
    )
