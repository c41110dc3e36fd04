"""The dashboard of an environment, as CloudWatch will read it."""

import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import pytest

from handlers.declaration.signals import NAMESPACE, WATCHDOG, Signal
from handlers.schedule import SCHEDULE
from infra.dashboard import METRICS_OF_A_WIDGET
from tests.infra.templates import Template

# "CloudWatch service quotas": of a dashboard.
WIDGETS, METRICS = 500, 2500
# The parameters that CloudFormation puts in.
KNOWN = {"AWS::Region": "eu-west-1", "AWS::Partition": "aws", "AWS::AccountId": "111122223333"}

MESSAGES = "ApproximateNumberOfMessages"
OF_A_QUEUE = [
    {f"{MESSAGES}Visible", f"{MESSAGES}NotVisible", f"{MESSAGES}Delayed"},
    {"ApproximateAgeOfOldestMessage"},
    {Signal.TIME_IN_QUEUE},
    {Signal.FAILED, Signal.DEAD_LETTER, f"{MESSAGES}Visible"},
]

Widget = Mapping[str, Any]


def widgets(template: Template) -> list[Widget]:
    """The widgets of the one dashboard, with what only AWS knows put in."""
    body = template.only("CloudWatch::Dashboard")["DashboardBody"]["Fn::Sub"]
    for name, value in KNOWN.items():
        body = body.replace(f"${{{name}}}", value)
    assert "${" not in body
    found: list[Widget] = json.loads(body)["widgets"]
    return found


def shown(widget: Widget) -> Iterator[tuple[str, str, str | None]]:
    """Namespace, name and job of each metric that a widget names."""
    for entry in widget["properties"].get("metrics", []):
        parts = [part for part in entry if isinstance(part, str)]
        if parts:
            dimensions = dict(zip(parts[2::2], parts[3::2], strict=True))
            yield parts[0], parts[1], dimensions.get("job")


def rows(template: Template) -> dict[int, list[Widget]]:
    """The widgets by their height in the grid."""
    found: dict[int, list[Widget]] = {}
    for widget in widgets(template):
        found.setdefault(widget["y"], []).append(widget)
    return found


@pytest.fixture(params=["dev", "staging", "prod"])
def template(request: pytest.FixtureRequest, stacks: Mapping[str, Template]) -> Template:
    """The stack of alarms of each environment."""
    return stacks[f"shiftlock-{request.param}-alarms"]


def test_each_job_has_a_row_of_its_runs_and_a_second_one_of_its_queue(template: Template) -> None:
    of_jobs = iter(list(rows(template).values())[2:])
    outcomes = ("SUCCEEDED", "FAILED", "TIMED_OUT", "INTERRUPTED", "LOST", "START_FAILED")
    for job in SCHEDULE:
        by_outcome, duration, *of_ticks = next(of_jobs)
        assert [*shown(by_outcome)] == [(NAMESPACE, Signal[name].value, job.name) for name in outcomes]
        assert {*shown(duration)} == {(NAMESPACE, Signal.DURATION.value, job.name)}
        assert len(of_ticks) == job.scheduled
        for delay in of_ticks:
            assert {*shown(delay)} == {(NAMESPACE, Signal.START_DELAY.value, job.name)}
            [limit] = delay["properties"]["annotations"]["horizontal"]
            assert limit["value"] == job.late_after.total_seconds()
        if job.queue is not None:
            names = [{name for _, name, _ in shown(widget)} for widget in next(of_jobs)]
            assert names == OF_A_QUEUE
    assert not [*of_jobs]


def test_what_all_jobs_share_comes_first(template: Template) -> None:
    light, shared = list(rows(template).values())[:2]
    environment = template.name.split("-")[1]
    assert [widget["properties"]["alarms"] for widget in light] == [
        [f"arn:aws:cloudwatch:eu-west-1:111122223333:alarm:shiftlock-{environment}-anything-wrong"]
    ]
    names = [{name for _, name, _ in shown(widget)} for widget in shared]
    assert names == [
        {"ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"},
        {Signal.WATCHDOG_BEAT},
        {Signal.SECONDS_LATE},
        set(),
    ]
    assert [job for _, _, job in shown(shared[1])] == [WATCHDOG]
    assert [job for _, _, job in shown(shared[2])] == [job.name for job in SCHEDULE if job.scheduled]
    [fenced] = shared[3]["properties"]["metrics"]
    assert Signal.FENCED in fenced[0]["expression"]


def test_no_widget_lies_on_another_or_outside_of_the_grid(template: Template) -> None:
    found = widgets(template)
    for widget in found:
        assert 0 <= widget["x"] < widget["x"] + widget["width"] <= 24
    for one, other in combinations(found, 2):
        beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        below = one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
        assert beside or below


def test_sixty_jobs_stay_within_the_limits_of_a_dashboard(alarms_of_sixty: Template) -> None:
    found = widgets(alarms_of_sixty)
    in_each = [len(widget["properties"].get("metrics", [])) for widget in found]
    assert len(found) <= WIDGETS
    assert 50 <= max(in_each) <= METRICS_OF_A_WIDGET == 500
    assert sum(in_each) <= METRICS
