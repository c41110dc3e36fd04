"""The recorder: what became of starts and processes, brought into the ledger before AWS forgets it."""

from constructs import Construct

from infra.destination import Calls, Destination
from infra.environment import Environment
from infra.permissions import DELIVERY_AGE
from infra.platform_function import PlatformFunction
from infra.platform_rule import platform_rule
from infra.shared import Shared

HANDLER = "handlers.runtime.recorder_entry.handler"
TIMEOUT = 60
# The database may be away for a while, and what is told here is told once: Lambda waits one minute, then two.
RETRIES = 2


class Recorder(Construct):
    """The function, in the network of the database, and the rule that tells it of each task that stopped.

    `destination` is where Lambda sends the records of the dispatcher and of job functions that failed. notifier: where
    it sends what the recorder returns.
    """

    def __init__(self, scope: Construct, shared: Shared, notifier: Destination) -> None:
        super().__init__(scope, "Recorder")
        function = PlatformFunction(
            self,
            "recorder",
            shared,
            description="Records stopped tasks, failed functions and starts that came to nothing",
            handler=HANDLER,
            timeout=TIMEOUT,
            variables=shared.variables,
            calls=Calls(
                retries=RETRIES, age=DELIVERY_AGE, on_failure=shared.dead_letters.destination, on_success=notifier
            ),
            with_database=True,
        )
        self.destination: Destination = function.destination
        platform_rule(
            self,
            stopped_tasks_rule(shared.environment),
            function,
            shared,
            description="Tells the recorder of each task of the cluster that stopped",
            # "Amazon ECS task state change events".
            pattern={
                "source": ["aws.ecs"],
                "detail-type": ["ECS Task State Change"],
                "detail": {"lastStatus": ["STOPPED"], "clusterArn": [shared.cluster_arn]},
            },
            age=DELIVERY_AGE,
        )


def stopped_tasks_rule(environment: Environment) -> str:
    """Name of the rule."""
    return environment.platform_name("stopped-tasks")
