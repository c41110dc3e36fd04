"""The dispatcher: it starts and stops what the watchdog says, from outside the network of the database."""

from collections.abc import Iterator, Sequence

from aws_cdk import ArnFormat, Fn, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.acknowledged import acknowledge_wildcard
from infra.destination import Calls, Destination
from infra.platform_function import PlatformFunction
from infra.shared import Shared
from infra.target import Target
from infra.variables import power_tools
from infra.watchdog import AGE

HANDLER = "handlers.runtime.dispatch_entry.handler"
TIMEOUT = 60


class Dispatcher(Construct):
    """The function; only what the watchdog returns calls it. `destination` is where Lambda sends that.

    targets: all that it may start. recorder: where Lambda sends what came of it.
    """

    def __init__(self, scope: Construct, shared: Shared, targets: Sequence[Target], recorder: Destination) -> None:
        super().__init__(scope, "Dispatcher")
        self._shared = shared
        network, environment = shared.network, shared.environment
        families, tasks = (
            self._arn("task-definition", shared.name_of("*")),
            self._arn("task", f"{environment.prefix}/*"),
        )
        function = PlatformFunction(
            self,
            "dispatcher",
            shared,
            description="Starts runs and stops tasks as the watchdog says; what came of it goes to the recorder",
            handler=HANDLER,
            timeout=TIMEOUT,
            variables={
                **power_tools(),
                "SHIFTLOCK_ENVIRONMENT": environment.name,
                "SHIFTLOCK_CLUSTER": shared.cluster_arn,
                "SHIFTLOCK_SUBNETS": Fn.join(",", list(network.tasks)),
                "SHIFTLOCK_SECURITY_GROUP": network.jobs.security_group_id,
                "SHIFTLOCK_PUBLIC_IP": "ENABLED" if network.public_ip else "DISABLED",
                "SHIFTLOCK_LAMBDA_CEILING": str(int(environment.lambda_ceiling.total_seconds())),
            },
            statements=[*self._statements(targets, families, tasks)],
            # Not called again after a failure: the next minute says the same, and a start that was made is known by
            # its token.
            calls=Calls(retries=0, age=AGE, on_failure=shared.dead_letters.destination, on_success=recorder),
            with_database=False,
        )
        self.destination: Destination = function.destination
        role = function.made.role
        acknowledge_wildcard(
            role,
            families,
            "Families of jobs, by the prefix that only they have, in our cluster alone: with two resources for each "
            "job the policy would pass the 10,240 characters of a role. Whose tasks can start is said by their roles.",
        )
        acknowledge_wildcard(role, tasks, "Tasks of our cluster, whose ids ECS makes up.")

    def _statements(self, targets: Sequence[Target], families: str, tasks: str) -> Iterator[iam.PolicyStatement]:
        functions = [target.arn for target in targets if target.task is None]
        roles = [target.task.role_arn for target in targets if target.task is not None]
        if functions:
            yield iam.PolicyStatement(sid="StartFunctions", actions=["lambda:InvokeFunction"], resources=functions)
        if roles:
            yield iam.PolicyStatement(
                sid="StartTasks",
                actions=["ecs:RunTask"],
                # With a revision and without one.
                resources=[families],
                conditions={"ArnEquals": {"ecs:cluster": self._shared.cluster_arn}},
            )
            yield iam.PolicyStatement(
                sid="PassRolesOfTasks",
                actions=["iam:PassRole"],
                resources=[*roles, self._shared.execution_role.role_arn],
                conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            )
            yield iam.PolicyStatement(sid="StopTasks", actions=["ecs:StopTask"], resources=[tasks])

    def _arn(self, resource: str, name: str) -> str:
        return Stack.of(self).format_arn(
            service="ecs", resource=resource, resource_name=name, arn_format=ArnFormat.SLASH_RESOURCE_NAME
        )
