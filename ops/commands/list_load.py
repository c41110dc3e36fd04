"""`jobs list --load`: the starts of a day, and the most vCPU that Fargate has to find at once."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.load import Peak, peak, starts
from infra.environment import Environment
from infra.environments import ENVIRONMENTS
from ops.as_json import print_json
from ops.chart import DayChart
from ops.table import Table, open_console
from ops.wording import minute

DAY = timedelta(hours=24)
CROWDS = 5


def list_load(catalogue: Catalogue, start: datetime, *, as_json: bool) -> None:
    """Print the 24 hours from `start` (aware UTC) on."""
    begin = start.replace(second=0, microsecond=0)
    end = begin + DAY
    found = starts(catalogue, begin, end)
    peaks = {environment.name: _peak(catalogue, environment, begin, end) for environment in ENVIRONMENTS}
    if as_json:
        print_json(
            {
                "from": begin,
                "to": end,
                "starts": [{"minute": at, "starts": len(names), "jobs": names} for at, names in found.items()],
                "fargate": [_record(environment, peaks[environment.name]) for environment in ENVIRONMENTS],
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
        (_line(environment, peaks[environment.name]), environment.name) for environment in ENVIRONMENTS
    ):
        print(f"{', '.join(names)}: {line}")


def _peak(catalogue: Catalogue, environment: Environment, begin: datetime, end: datetime) -> Peak | None:
    if environment.scheduler == "clock":
        return None
    jobs = [job for job in catalogue if job.name not in environment.schedules_off]
    return peak(jobs, begin, end, lambda_ceiling=environment.lambda_ceiling)


def _line(environment: Environment, highest: Peak | None) -> str:
    if environment.scheduler == "clock":
        return "the clock runs all jobs within its own task"
    if highest is None:
        return "nothing runs on Fargate"
    each = ", ".join(f"{name} {vcpu:g}" for name, vcpu in highest.jobs.items())
    passes = "which passes" if highest.vcpu > environment.vcpu_quota else "within"
    return (
        f"at most {highest.vcpu:g} vCPU of Fargate at once, from {minute(highest.at)} on ({each}), "
        f"{passes} the quota of {environment.vcpu_quota}"
    )


def _grouped(lines: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    together: dict[str, list[str]] = {}
    for line, name in lines:
        together.setdefault(line, []).append(name)
    return together.items()


def _record(environment: Environment, highest: Peak | None) -> Mapping[str, object]:
    return {
        "environment": environment.name,
        "vcpu_quota": environment.vcpu_quota,
        "most_vcpu": 0 if highest is None else highest.vcpu,
        "at": highest and highest.at,
        "jobs": {} if highest is None else highest.jobs,
    }
