"""A function of the platform itself: watchdog, dispatcher, recorder, notifier. No job has such a name."""

from collections.abc import Mapping, Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.destination import Calls, Destination
from infra.function import function
from infra.shared import Shared

MEMORY = 256
DISK = 512


class PlatformFunction(Construct):
    """The function with its log group. made: for its rule. destination: for the functions that send to it."""

    def __init__(
        self,
        scope: Construct,
        part: str,
        shared: Shared,
        *,
        description: str,
        handler: str,
        timeout: int,
        variables: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement] = (),
        calls: Calls,
        with_database: bool,
    ) -> None:
        """part: what it is in one word. with_database: it runs in the network, and may log in to the database."""
        super().__init__(scope, "Function")
        environment = shared.environment
        log = logs.CfnLogGroup(
            self, "Log", log_group_name=environment.log_group(f"_{part}"), retention_in_days=environment.log_days
        )
        log.apply_removal_policy(RemovalPolicy.DESTROY)
        self.name = environment.platform_name(part)
        self.made = function(
            self,
            name=self.name,
            description=description,
            handler=handler,
            code=shared.code,
            timeout=timeout,
            memory=MEMORY,
            disk=DISK,
            variables={**variables, "SHIFTLOCK_PREFIX": environment.prefix},
            group=logs.LogGroup.from_log_group_name(self, "NamedLog", log.ref),
            network=shared.network if with_database else None,
            statements=[shared.database.connect_statement(), *statements] if with_database else statements,
            calls=calls,
        )

    @property
    def destination(self) -> Destination:
        """This function as the destination of another one's records."""
        arn = self.made.arn
        leave = iam.PolicyStatement(sid="SendRecords", actions=["lambda:InvokeFunction"], resources=[arn])
        return Destination(arn, leave)
