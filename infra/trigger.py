"""What starts a job at its ticks: an EventBridge rule in UTC, or an EventBridge Scheduler schedule in a zone.

Both are L1: the L2 ECS target pins the revision of the task and names overrides as RunTask does not know them.
A job with a spread starts a little after its ticks: the rule is moved, or the schedule has a flexible window.
"""

from aws_cdk import Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.spread import MINUTE, offset, rung
from infra.acknowledged import acknowledge_wildcard
from infra.permissions import DELIVERY_AGE, DELIVERY_RETRIES
from infra.shared import Shared
from infra.target import Target

# "Adding context attributes in EventBridge Scheduler".
SCHEDULED_TIME = '"<aws.scheduler.scheduled-time>"'


class RuleTrigger(Construct):
    """A rule for a job whose schedule is in UTC."""

    def __init__(self, scope: Construct, job: Job, because: str, target: Target, shared: Shared) -> None:
        super().__init__(scope, "Rule")
        name = shared.name_of(job.name)
        start = events.CfnRule.TargetProperty(
            id="job",
            arn=target.arn,
            role_arn=self._role(name, target).role_arn if target.task is not None else None,
            input_transformer=events.CfnRule.InputTransformerProperty(
                # EventBridge puts the quotes around the value.
                input_paths_map={"time": "$.time"},
                input_template=target.message("rule", "<time>"),
            ),
            ecs_parameters=_rule_task(target),
            dead_letter_config=events.CfnRule.DeadLetterConfigProperty(arn=shared.dead_letters.arn),
            retry_policy=events.CfnRule.RetryPolicyProperty(
                maximum_event_age_in_seconds=DELIVERY_AGE, maximum_retry_attempts=DELIVERY_RETRIES
            ),
        )
        rule = events.CfnRule(
            self,
            "Rule",
            name=name,
            description=_description(job, because, _later(job)),
            # Its events then carry the later time; the runtime finds the tick before it.
            schedule_expression=rung(job.schedule, offset(job.name, job.spread)).aws,
            state=_state(job, shared),
            targets=[start],
        )
        rule.add_resource_dependency(target.prerequisite)
        if target.task is None:
            lambda_.CfnPermission(
                self,
                "Permission",
                action="lambda:InvokeFunction",
                function_name=target.arn,
                principal="events.amazonaws.com",
                source_arn=rule.attr_arn,
            )

    def _role(self, name: str, target: Target) -> iam.Role:
        # No condition on the source: what EventBridge sends with an AssumeRole for a rule is not documented.
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("events.amazonaws.com"),
            description=f"What the rule {name} may do",
            inline_policies={"start": iam.PolicyDocument(statements=target.start_statements())},
        )
        _acknowledge_revisions(role, target)
        return role


class ScheduleTrigger(Construct):
    """A schedule for a job whose schedule is in a zone."""

    def __init__(self, scope: Construct, job: Job, because: str, target: Target, shared: Shared) -> None:
        super().__init__(scope, "Schedule")
        stack = Stack.of(self)
        group = stack.format_arn(service="scheduler", resource="schedule-group", resource_name=shared.schedule_group)
        role = iam.Role(
            self,
            "Role",
            # "Confused deputy prevention in EventBridge Scheduler": the source is the group.
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnEquals": {"aws:SourceArn": group},
                },
            ),
            description=f"What the schedule {shared.name_of(job.name)} may do",
            inline_policies={
                "start": iam.PolicyDocument(
                    statements=[*target.start_statements(), shared.dead_letters.send_statement()]
                )
            },
        )
        _acknowledge_revisions(role, target)
        schedule = scheduler.CfnSchedule(
            self,
            "Schedule",
            name=shared.name_of(job.name),
            group_name=shared.schedule_group,
            description=_description(job, because),
            schedule_expression=job.schedule.aws,
            schedule_expression_timezone=job.schedule.zone,
            flexible_time_window=_window(job),
            state=_state(job, shared),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=target.arn,
                role_arn=role.role_arn,
                input=target.message("schedule", SCHEDULED_TIME),
                ecs_parameters=_schedule_task(target),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=shared.dead_letters.arn),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=DELIVERY_AGE, maximum_retry_attempts=DELIVERY_RETRIES
                ),
            ),
        )
        schedule.add_resource_dependency(target.prerequisite)


def _rule_task(target: Target) -> events.CfnRule.EcsParametersProperty | None:
    if (task := target.task) is None:
        return None
    return events.CfnRule.EcsParametersProperty(
        task_definition_arn=task.family_arn,
        task_count=1,
        launch_type="FARGATE",
        network_configuration=events.CfnRule.NetworkConfigurationProperty(
            aws_vpc_configuration=events.CfnRule.AwsVpcConfigurationProperty(
                subnets=list(task.subnets),
                security_groups=[task.security_group],
                assign_public_ip="ENABLED" if task.public_ip else "DISABLED",
            )
        ),
    )


def _schedule_task(target: Target) -> scheduler.CfnSchedule.EcsParametersProperty | None:
    if (task := target.task) is None:
        return None
    return scheduler.CfnSchedule.EcsParametersProperty(
        task_definition_arn=task.family_arn,
        task_count=1,
        launch_type="FARGATE",
        network_configuration=scheduler.CfnSchedule.NetworkConfigurationProperty(
            awsvpc_configuration=scheduler.CfnSchedule.AwsVpcConfigurationProperty(
                subnets=list(task.subnets),
                security_groups=[task.security_group],
                assign_public_ip="ENABLED" if task.public_ip else "DISABLED",
            )
        ),
    )


def _window(job: Job) -> scheduler.CfnSchedule.FlexibleTimeWindowProperty:
    if not job.spread:
        return scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF")
    return scheduler.CfnSchedule.FlexibleTimeWindowProperty(
        mode="FLEXIBLE", maximum_window_in_minutes=job.spread // MINUTE
    )


def _acknowledge_revisions(role: iam.Role, target: Target) -> None:
    if target.task is not None:
        acknowledge_wildcard(
            role,
            f"{target.task.family_arn}:*",
            "Any revision of one family: a start that is retried across a deploy would be refused otherwise.",
        )


def _state(job: Job, shared: Shared) -> str:
    return "DISABLED" if job.name in shared.environment.schedules_off else "ENABLED"


def _later(job: Job) -> str:
    later = offset(job.name, job.spread) // MINUTE
    return f" Rings {later} min after each tick of {job.schedule.aws}." if later else ""


def _description(job: Job, because: str, later: str = "") -> str:
    """What the consoles show, at most 512 characters: what the job does and why it runs where it does."""
    return f"{job.description} Runs where it does because {because}.{later}"[:512].strip()
