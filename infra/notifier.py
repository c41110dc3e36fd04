"""The notifier: it tells the alarm topic of each run that ended failed or unknown, in words, from outside."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.destination import Calls, Destination
from infra.permissions import DELIVERY_AGE
from infra.platform_function import PlatformFunction
from infra.shared import Shared
from infra.variables import power_tools

HANDLER = "handlers.runtime.notifier_entry.handler"
TIMEOUT = 60
# What is told here is told once: Lambda waits one minute, then two.
RETRIES = 2


class Notifier(Construct):
    """The function; only what the recorder returns calls it. `destination` is where Lambda sends that.

    It sends its own answer nowhere: here the chain from the watchdog ends.
    """

    def __init__(self, scope: Construct, shared: Shared) -> None:
        super().__init__(scope, "Notifier")
        environment = shared.environment
        # By its name: the stack of alarms, which makes it, is deployed after this one.
        topic = environment.alarm_topic or Stack.of(self).format_arn(service="sns", resource=environment.own_topic)
        function = PlatformFunction(
            self,
            "notifier",
            shared,
            description="Tells the alarm topic of each run that ended failed or unknown",
            handler=HANDLER,
            timeout=TIMEOUT,
            variables={**power_tools(), "SHIFTLOCK_ENVIRONMENT": environment.name, "SHIFTLOCK_TOPIC": topic},
            statements=[iam.PolicyStatement(sid="TellOfBadEnds", actions=["sns:Publish"], resources=[topic])],
            calls=Calls(retries=RETRIES, age=DELIVERY_AGE, on_failure=shared.dead_letters.destination),
            with_database=False,
        )
        self.destination: Destination = function.destination
