"""The CloudWatch dashboard of an environment: a row for what all jobs share, and one for each job.

The body is plain data ("Dashboard body structure and syntax" in the CloudWatch API reference).
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from aws_cdk import Fn
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.declaration.signals import WATCHDOG, Signal
from infra.composite_alarm import anything_wrong
from infra.delivery_alarms import of_queue
from infra.environment import Environment
from infra.metric import Expression, Metric, signal_of, signal_of_all_jobs

# The grid has 24 columns.
COLUMNS, HEIGHT, ALARM_HEIGHT = 24, 6, 2
PERIOD = 300
# "CloudWatch service quotas": metrics of one widget.
METRICS_OF_A_WIDGET = 500

OUTCOMES = (
    Signal.SUCCEEDED,
    Signal.FAILED,
    Signal.TIMED_OUT,
    Signal.INTERRUPTED,
    Signal.LOST,
    Signal.START_FAILED,
)

Widget = dict[str, Any]


def dashboard(scope: Construct, environment: Environment, catalogue: Catalogue) -> None:
    """Make the dashboard, under the environment's prefix as its name."""
    body = json.dumps({"widgets": widgets(environment, catalogue)}, separators=(",", ":"))
    cloudwatch.CfnDashboard(scope, "Dashboard", dashboard_name=environment.prefix, dashboard_body=Fn.sub(body))


def widgets(environment: Environment, catalogue: Catalogue) -> list[Widget]:
    """All widgets, from top to bottom. What only AWS knows is a `${...}` of Fn::Sub."""
    light = {
        "type": "alarm",
        "properties": {
            "title": f"{environment.name}: anything wrong",
            "alarms": [
                "arn:${AWS::Partition}:cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:" + anything_wrong(environment)
            ],
        },
        **_place(0, 0, COLUMNS, ALARM_HEIGHT),
    }
    rows = [_shared_row(environment, catalogue), *(_job_row(environment, job) for job in catalogue)]
    return [light, *(widget for number, row in enumerate(rows) for widget in _placed(row, number))]


def _shared_row(environment: Environment, catalogue: Catalogue) -> list[Widget]:
    waiting = [
        (job.name, signal_of(environment, Signal.SECONDS_LATE, job.name, "Maximum"))
        for job in [*catalogue][:METRICS_OF_A_WIDGET]
    ]
    visible, oldest = "ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"
    return [
        _graph(
            "Dead letters",
            [("messages", of_queue(environment.dead_letters, visible))],
            right=[("seconds of the oldest", of_queue(environment.dead_letters, oldest))],
        ),
        _graph(
            "Passes of the watchdog",
            [("passes", signal_of(environment, Signal.WATCHDOG_BEAT, WATCHDOG))],
            line=("fewer wake somebody", 1),
        ),
        _graph("Due and not started, seconds", waiting),
        _graph("Fenced writes", [("all jobs", signal_of_all_jobs(environment, Signal.FENCED))]),
    ]


def _job_row(environment: Environment, job: Job) -> list[Widget]:
    def of(signal: Signal, statistic: Any = "Sum") -> Metric:
        return signal_of(environment, signal, job.name, statistic)

    return [
        _graph(f"{job.name}: by outcome", [(each.value, of(each)) for each in OUTCOMES], stacked=True),
        _graph(
            f"{job.name}: duration, seconds",
            [("longest", of(Signal.DURATION, "Maximum")), ("average", of(Signal.DURATION, "Average"))],
            line=("longest_run", int(job.longest_run.total_seconds())),
        ),
        _graph(
            f"{job.name}: start delay, seconds",
            [("longest", of(Signal.START_DELAY, "Maximum"))],
            line=("late", int(job.late_after.total_seconds())),
        ),
    ]


def _graph(
    title: str,
    left: Iterable[tuple[str, Metric | Expression]],
    *,
    right: Iterable[tuple[str, Metric]] = (),
    line: tuple[str, int] | None = None,
    stacked: bool = False,
) -> Widget:
    properties: dict[str, Any] = {
        "title": title,
        "region": "${AWS::Region}",
        "view": "timeSeries",
        "stacked": stacked,
        "period": PERIOD,
        "metrics": [*(_metric(*each) for each in left), *(_metric(*each, axis="right") for each in right)],
        "yAxis": {"left": {"min": 0}, "right": {"min": 0}},
    }
    if line is not None:
        properties["annotations"] = {"horizontal": [{"label": line[0], "value": line[1]}]}
    return {"type": "metric", "properties": properties}


def _metric(label: str, of: Metric | Expression, axis: str = "left") -> list[Any]:
    if isinstance(of, Expression):
        return [{"expression": of.text, "label": label, "yAxis": axis}]
    dimensions = [part for pair in of.dimensions.items() for part in pair]
    return [of.namespace, of.name, *dimensions, {"stat": of.statistic, "label": label, "yAxis": axis}]


def _placed(row: Sequence[Widget], number: int) -> list[Widget]:
    """The widgets of a row side by side, below the light and the rows before."""
    width = COLUMNS // len(row)
    top = ALARM_HEIGHT + number * HEIGHT
    return [widget | _place(place * width, top, width, HEIGHT) for place, widget in enumerate(row)]


def _place(x: int, y: int, width: int, height: int) -> dict[str, Any]:
    return {"x": x, "y": y, "width": width, "height": height}
