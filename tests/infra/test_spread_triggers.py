"""A job with a spread: a rule is moved by its offset, a schedule has a flexible window."""

from pathlib import Path

import pytest

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import cron, every
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.spread import offset
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from tests.infra.templates import Template, synthesise

TARGET = SCHEDULE.jobs[0].target
SPREAD = minutes(10)
JOBS = declare(
    Job("nightly", target=TARGET, schedule=cron("0 2 * * ? *"), longest_run=minutes(1), spread=SPREAD),
    Job("quarters", target=TARGET, schedule=every(minutes=15), longest_run=minutes(1), spread=SPREAD),
    Job(
        "zoned", target=TARGET, schedule=cron("0 2 * * ? *", zone="Asia/Riyadh"), longest_run=minutes(1), spread=SPREAD
    ),
    Job("at-once", target=TARGET, schedule=cron("0 2 * * ? *", zone="Asia/Riyadh"), longest_run=minutes(1)),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stack of these jobs in dev."""
    folder: Path = tmp_path_factory.mktemp("spread") / "cdk.out"
    return synthesise(folder, ENVIRONMENTS, JOBS, {"env": "dev"}, rules=False)["shiftlock-dev-jobs"]


def test_a_rule_rings_later_by_the_offset_of_the_name_and_says_so(template: Template) -> None:
    rules = {rule["Name"].removeprefix("shiftlock-dev-"): rule for rule in template.of("Events::Rule").values()}
    later = {name: offset(name, SPREAD) // minutes(1) for name in rules}
    assert all(later.values())
    assert rules["nightly"]["ScheduleExpression"] == f"cron({later['nightly']} 2 * * ? *)"
    moved = ",".join(str(minute + later["quarters"]) for minute in (0, 15, 30, 45))
    assert rules["quarters"]["ScheduleExpression"] == f"cron({moved} * * * ? *)"
    said = f"Rings {later['nightly']} min after each tick of cron(0 2 * * ? *)."
    assert rules["nightly"]["Description"].endswith(said)


def test_a_schedule_keeps_its_time_and_gets_the_spread_as_its_window(template: Template) -> None:
    found = {each["Name"].removeprefix("shiftlock-dev-"): each for each in template.of("Scheduler::Schedule").values()}
    assert found["zoned"]["ScheduleExpression"] == "cron(0 2 * * ? *)"
    assert found["zoned"]["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 10}
    assert found["at-once"]["FlexibleTimeWindow"] == {"Mode": "OFF"}
