"""A Lambda function as all of ours are: ARM, from the one bundle, with a role of its own and one log group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from infra.acknowledged import acknowledge, acknowledge_wildcard
from infra.destination import Calls
from infra.network import Network
from infra.packages import RUNTIME_PYTHON
from infra.permissions import network_statements, write_logs

RUNTIME = f"python{RUNTIME_PYTHON}"
# "Lambda API reference", CreateFunction.
LONGEST_DESCRIPTION = 256


@dataclass(frozen=True, slots=True)
class Function:
    """What was made: `invoke` says what becomes of its calls and must be there before the first one."""

    arn: str
    role: iam.Role
    invoke: lambda_.CfnEventInvokeConfig


def function(
    scope: Construct,
    *,
    name: str,
    description: str,
    handler: str,
    code: s3_assets.Asset,
    timeout: int,
    memory: int,
    disk: int,
    variables: Mapping[str, str],
    group: logs.ILogGroup,
    network: Network | None,
    statements: Sequence[iam.PolicyStatement],
    calls: Calls,
) -> Function:
    """A function that may write its log, send to the destinations of its calls, and what `statements` say.

    timeout in seconds, memory and disk in MB. network: where it runs; None is outside of any.
    """
    policy = [write_logs(group), *statements, *calls.statements()]
    if network is not None:
        policy += network_statements(scope, name)
    role = iam.Role(
        scope,
        "Role",
        assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        description=f"What {name} may do",
        inline_policies={"function": iam.PolicyDocument(statements=policy)},
    )
    acknowledge_wildcard(role, group.log_group_arn, "The streams of one log group, whose names Lambda makes up.")
    if network is not None:
        acknowledge_wildcard(
            role,
            "*",
            "EC2 checks the six actions on network interfaces against `*`; the function's own code is denied them.",
        )
    of = lambda_.CfnFunction
    made = of(
        scope,
        "Function",
        function_name=name,
        description=description[:LONGEST_DESCRIPTION],
        runtime=RUNTIME,
        architectures=["arm64"],
        handler=handler,
        code=of.CodeProperty(s3_bucket=code.s3_bucket_name, s3_key=code.s3_object_key),
        role=role.role_arn,
        timeout=timeout,
        memory_size=memory,
        ephemeral_storage=of.EphemeralStorageProperty(size=disk),
        environment=of.EnvironmentProperty(variables=dict(variables)),
        logging_config=of.LoggingConfigProperty(log_group=group.log_group_name),
        vpc_config=None
        if network is None
        else of.VpcConfigProperty(subnet_ids=network.private, security_group_ids=[network.jobs.security_group_id]),
    )
    acknowledge(made, "L1", "The image and the bytecode of the bundle are made for the same Python.")
    config = lambda_.CfnEventInvokeConfig
    success = calls.on_success
    invoke = config(
        scope,
        "Invoke",
        function_name=made.ref,
        qualifier="$LATEST",
        maximum_retry_attempts=calls.retries,
        maximum_event_age_in_seconds=calls.age,
        destination_config=config.DestinationConfigProperty(
            on_failure=config.OnFailureProperty(destination=calls.on_failure.arn),
            on_success=None if success is None else config.OnSuccessProperty(destination=success.arn),
        ),
    )
    return Function(made.attr_arn, role, invoke)
