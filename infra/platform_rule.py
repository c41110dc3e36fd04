"""A rule that calls a function of the platform: by the clock, or for each event that matches a pattern."""

from collections.abc import Mapping

from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.permissions import DELIVERY_RETRIES
from infra.platform_function import PlatformFunction
from infra.shared import Shared


def platform_rule(
    scope: Construct,
    name: str,
    function: PlatformFunction,
    shared: Shared,
    *,
    description: str,
    age: int,
    schedule: str | None = None,
    pattern: Mapping[str, object] | None = None,
) -> None:
    """Make the rule and let it call the function. age: seconds for which a delivery is tried, 60 or more."""
    target = events.CfnRule.TargetProperty(
        id="function",
        arn=function.made.arn,
        dead_letter_config=events.CfnRule.DeadLetterConfigProperty(arn=shared.dead_letters.arn),
        retry_policy=events.CfnRule.RetryPolicyProperty(
            maximum_event_age_in_seconds=age, maximum_retry_attempts=DELIVERY_RETRIES
        ),
    )
    rule = events.CfnRule(
        scope,
        "Rule",
        name=name,
        description=description,
        schedule_expression=schedule,
        event_pattern=pattern,
        state="ENABLED",
        targets=[target],
    )
    rule.add_resource_dependency(function.made.invoke)
    lambda_.CfnPermission(
        scope,
        "Permission",
        action="lambda:InvokeFunction",
        function_name=function.made.arn,
        principal="events.amazonaws.com",
        source_arn=rule.attr_arn,
    )
