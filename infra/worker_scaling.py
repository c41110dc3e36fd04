"""How many workers a queue gets: more while messages wait, none once nothing waits and nothing is under way.

Step scaling, since target tracking cannot come from 0: it divides by the workers that there are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import Fn
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from infra.delivery_alarms import of_queue
from infra.environment import Environment
from infra.job_queue import queue_name
from infra.metric import Expression, Metric
from infra.watched import watched

# SQS sends its metrics once a minute ("Available CloudWatch metrics for Amazon SQS").
PERIOD = 60
# A task takes about a minute to start: what was added counts before more is.
SETTLE = 120
# So many minutes without a message, waiting or under way, are the end of the work.
IDLE = 5
SHARE_OF_SOME, SOME, MANY = 4, 10, 100


@dataclass(frozen=True, slots=True)
class Step:
    """With so many messages waiting or more, so many workers are added."""

    waiting: int
    workers: int


def steps(concurrency: int) -> Iterator[Step]:
    """Yield the steps of a queue, from the least on: one worker, a quarter of all, all.

    Workers are added to those at work, and never set to a number: it might be a smaller one, and end some of them.
    """
    yield Step(1, 1)
    some = -(-concurrency // SHARE_OF_SOME)
    if some > 1:
        yield Step(SOME, some)
    if concurrency > some:
        yield Step(MANY, concurrency)


def scale(scope: Construct, job: Job, queue: Queue, service: ecs.CfnService, environment: Environment) -> None:
    """Let the queue say how many tasks the service has."""
    off = job.name in environment.schedules_off
    target = scaling.CfnScalableTarget(
        scope,
        "Workers",
        service_namespace="ecs",
        scalable_dimension="ecs:service:DesiredCount",
        resource_id=Fn.join("/", ["service", environment.prefix, service.attr_name]),
        min_capacity=0,
        max_capacity=0 if off else queue.concurrency,
    )
    name = queue_name(environment, job)
    waiting = of_queue(name, "ApproximateNumberOfMessagesVisible")
    taken = of_queue(name, "ApproximateNumberOfMessagesNotVisible")
    found = [*steps(queue.concurrency)]
    bounds = [*(step.waiting for step in found[1:]), None]
    of = scaling.CfnScalingPolicy
    _rung_by(
        scope,
        _policy(
            scope,
            "Out",
            target,
            "ChangeInCapacity",
            SETTLE,
            [
                of.StepAdjustmentProperty(
                    scaling_adjustment=step.workers,
                    # Counted from the alarm's threshold.
                    metric_interval_lower_bound=step.waiting - 1,
                    metric_interval_upper_bound=None if below is None else below - 1,
                )
                for step, below in zip(found, bounds, strict=True)
            ],
        ),
        "OutAlarm",
        f"{service.service_name}_out",
        f"Messages of {job.name} wait: workers are added. It wakes nobody.",
        waiting,
        threshold=1,
        comparison="GreaterThanOrEqualToThreshold",
        periods=1,
    )
    _rung_by(
        scope,
        _policy(
            scope,
            "In",
            target,
            "ExactCapacity",
            0,
            [of.StepAdjustmentProperty(scaling_adjustment=0, metric_interval_upper_bound=0)],
        ),
        "InAlarm",
        f"{service.service_name}_in",
        f"Nothing of {job.name} waits or is under way: its workers are ended. It wakes nobody.",
        Expression("waiting + taken", {"waiting": waiting, "taken": taken}),
        threshold=1,
        comparison="LessThanThreshold",
        periods=IDLE,
    )


def _policy(
    scope: Construct,
    construct_id: str,
    target: scaling.CfnScalableTarget,
    adjustment: str,
    cooldown: int,
    adjustments: list[scaling.CfnScalingPolicy.StepAdjustmentProperty],
) -> scaling.CfnScalingPolicy:
    of = scaling.CfnScalingPolicy
    return of(
        scope,
        construct_id,
        policy_name=f"{construct_id.lower()}-by-messages",
        policy_type="StepScaling",
        scaling_target_id=target.ref,
        step_scaling_policy_configuration=of.StepScalingPolicyConfigurationProperty(
            adjustment_type=adjustment,
            cooldown=cooldown,
            metric_aggregation_type="Maximum",
            step_adjustments=adjustments,
        ),
    )


def _rung_by(
    scope: Construct,
    policy: scaling.CfnScalingPolicy,
    construct_id: str,
    name: str,
    says: str,
    of: Metric | Expression,
    *,
    threshold: int,
    comparison: str,
    periods: int,
) -> None:
    """Make the alarm that applies the policy. Without data nothing changes: an idle queue sends none."""
    cloudwatch.CfnAlarm(
        scope,
        construct_id,
        alarm_name=name,
        alarm_description=says,
        threshold=threshold,
        evaluation_periods=periods,
        comparison_operator=comparison,
        treat_missing_data="notBreaching",
        alarm_actions=[policy.ref],
        **watched(of, PERIOD),
    )
