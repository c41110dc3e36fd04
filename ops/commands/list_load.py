"""`jobs list --load`: the starts of a day, and the most vCPU that Fargate has to find at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.load import Peak, peak, starts, workers_vcpu
from infra.environment import Environment
from infra.environments import ENVIRONMENTS
from ops.as_json import print_json
from ops.chart import DayChart
from ops.table import Table, open_console
from ops.wording import minute

DAY = timedelta(hours=24)
CROWDS = 5


@dataclass(frozen=True, slots=True)
class Need:
    """What Fargate has to find at once: the peak of the ticks, and beside it all workers of queues, by job in vCPU."""

    ticks: Peak | None = None
    workers: Mapping[str, float] = field(default_factory=dict)

    @property
    def vcpu(self) -> float:
        return (0 if self.ticks is None else self.ticks.vcpu) + sum(self.workers.values())


def list_load(catalogue: Catalogue, start: datetime, *, as_json: bool) -> None:
    """Print the 24 hours from `start` (aware UTC) on."""
    begin = start.replace(second=0, microsecond=0)
    end = begin + DAY
    found = starts(catalogue, begin, end)
    needs = {environment.name: _need(catalogue, environment, begin, end) for environment in ENVIRONMENTS}
    if as_json:
        print_json(
            {
                "from": begin,
                "to": end,
                "starts": [{"minute": at, "starts": len(names), "jobs": names} for at, names in found.items()],
                "fargate": [_record(environment, needs[environment.name]) for environment in ENVIRONMENTS],
            }
        )
        return
    console = open_console()
    print(f"starts in each minute from {minute(begin)} to {minute(end)}, and in each hour")
    console.print(DayChart({at: len(names) for at, names in found.items()}, begin, end))
    print()
    crowds = sorted((each for each in found.items() if len(each[1]) > 1), key=lambda each: -len(each[1]))[:CROWDS]
    if crowds:
        rows = [(minute(at), str(len(names)), ", ".join(names)) for at, names in crowds]
        console.print(Table(("busiest minute", "starts", "jobs"), rows, right=frozenset({"starts"}), note="jobs"))
    else:
        print("no two jobs start in the same minute")
    print()
    for line, names in _grouped(
        (_line(environment, needs[environment.name]), environment.name) for environment in ENVIRONMENTS
    ):
        print(f"{', '.join(names)}: {line}")


def _need(catalogue: Catalogue, environment: Environment, begin: datetime, end: datetime) -> Need:
    if environment.scheduler == "clock":
        return Need()
    jobs = [job for job in catalogue if job.name not in environment.schedules_off]
    ticks = peak([job for job in jobs if job.scheduled], begin, end, lambda_ceiling=environment.lambda_ceiling)
    return Need(ticks, workers_vcpu(jobs, lambda_ceiling=environment.lambda_ceiling))


def _line(environment: Environment, need: Need) -> str:
    if environment.scheduler == "clock":
        return "the clock runs all jobs within its own task"
    if not need.vcpu:
        return "nothing runs on Fargate"
    named = {} if need.ticks is None else dict(need.ticks.jobs)
    named |= {f"workers of {name}": vcpu for name, vcpu in need.workers.items()}
    each = ", ".join(f"{name} {vcpu:g}" for name, vcpu in named.items())
    since = "" if need.ticks is None else f", from {minute(need.ticks.at)} on"
    passes = "which passes" if need.vcpu > environment.vcpu_quota else "within"
    return (
        f"at most {need.vcpu:g} vCPU of Fargate at once{since} ({each}), {passes} the quota of {environment.vcpu_quota}"
    )


def _grouped(lines: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    together: dict[str, list[str]] = {}
    for line, name in lines:
        together.setdefault(line, []).append(name)
    return together.items()


def _record(environment: Environment, need: Need) -> Mapping[str, object]:
    return {
        "environment": environment.name,
        "vcpu_quota": environment.vcpu_quota,
        "most_vcpu": need.vcpu,
        "at": need.ticks and need.ticks.at,
        "jobs": {} if need.ticks is None else need.ticks.jobs,
        "workers": need.workers,
    }
