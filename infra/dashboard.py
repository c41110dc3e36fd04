"""The CloudWatch dashboard of an environment: a row for what all jobs share, and one for each job.

A job with a queue has a second row, for that.
"""

import json

from aws_cdk import Fn
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.declaration.signals import WATCHDOG, Signal
from infra.composite_alarm import anything_wrong
from infra.delivery_alarms import of_queue
from infra.environment import Environment
from infra.job_queue import dead_letters_name, queue_name
from infra.metric import Metric, Statistic, signal_of, signal_of_all_jobs
from infra.widgets import ALARM_HEIGHT, COLUMNS, Widget, graph, place, placed

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
        **place(0, 0, COLUMNS, ALARM_HEIGHT),
    }
    rows = [_shared_row(environment, catalogue)]
    for job in catalogue:
        rows.append(_job_row(environment, job))
        if job.queue is not None:
            rows.append(_queue_row(environment, job))
    return [light, *(widget for number, row in enumerate(rows) for widget in placed(row, number))]


def _shared_row(environment: Environment, catalogue: Catalogue) -> list[Widget]:
    waiting = [
        (job.name, signal_of(environment, Signal.SECONDS_LATE, job.name, "Maximum"))
        for job in [job for job in catalogue if job.scheduled][:METRICS_OF_A_WIDGET]
    ]
    visible, oldest = "ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"
    return [
        graph(
            "Dead letters",
            [("messages", of_queue(environment.dead_letters, visible))],
            right=[("seconds of the oldest", of_queue(environment.dead_letters, oldest))],
        ),
        graph(
            "Passes of the watchdog",
            [("passes", signal_of(environment, Signal.WATCHDOG_BEAT, WATCHDOG))],
            line=("fewer wake somebody", 1),
        ),
        graph("Due and not started, seconds", waiting),
        graph("Fenced writes", [("all jobs", signal_of_all_jobs(environment, Signal.FENCED))]),
    ]


def _job_row(environment: Environment, job: Job) -> list[Widget]:
    def of(signal: Signal, statistic: Statistic = "Sum") -> Metric:
        return signal_of(environment, signal, job.name, statistic)

    widgets = [
        graph(f"{job.name}: by outcome", [(each.value, of(each)) for each in OUTCOMES], stacked=True),
        graph(
            f"{job.name}: duration, seconds",
            [("longest", of(Signal.DURATION, "Maximum")), ("average", of(Signal.DURATION, "Average"))],
            line=("longest_run", int(job.longest_run.total_seconds())),
        ),
    ]
    if job.scheduled:
        delay = graph(
            f"{job.name}: start delay, seconds",
            [("longest", of(Signal.START_DELAY, "Maximum"))],
            line=("late", int(job.late_after.total_seconds())),
        )
        widgets.append(delay)
    return widgets


def _queue_row(environment: Environment, job: Job) -> list[Widget]:
    def of(signal: Signal, statistic: Statistic = "Sum") -> Metric:
        return signal_of(environment, signal, job.name, statistic)

    name, buried = queue_name(environment, job), dead_letters_name(environment, job)
    depth = "ApproximateNumberOfMessagesVisible"
    return [
        graph(
            f"{job.name}: messages",
            [
                ("waiting", of_queue(name, depth)),
                ("in flight", of_queue(name, "ApproximateNumberOfMessagesNotVisible")),
                ("delayed", of_queue(name, "ApproximateNumberOfMessagesDelayed")),
            ],
        ),
        graph(
            f"{job.name}: age of the oldest message, seconds",
            [("oldest", of_queue(name, "ApproximateAgeOfOldestMessage"))],
        ),
        graph(
            f"{job.name}: time in queue, seconds",
            [
                ("longest", of(Signal.TIME_IN_QUEUE, "Maximum")),
                ("average", of(Signal.TIME_IN_QUEUE, "Average")),
            ],
        ),
        graph(
            f"{job.name}: failures",
            [("failed", of(Signal.FAILED)), ("buried", of(Signal.DEAD_LETTER))],
            right=[("dead letters", of_queue(buried, depth))],
        ),
    ]
