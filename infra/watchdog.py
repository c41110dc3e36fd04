"""The watchdog: each minute it compares ledger and clock, and tells the dispatcher what to start and to stop."""

from constructs import Construct

from handlers.declaration.cron import every
from infra.destination import Calls, Destination
from infra.environment import Environment
from infra.grants import send_grants
from infra.platform_function import PlatformFunction
from infra.platform_rule import platform_rule
from infra.shared import Shared

HANDLER = "handlers.runtime.watchdog_entry.handler"
# A pass is over before the next one begins.
TIMEOUT = 55
# What a pass that was not made would have said, the next one says: after a minute it is of no use any more.
AGE = 60


class Watchdog(Construct):
    """The function, in the network of the database, and the rule that calls it each minute.

    The network may have no way out. Lambda itself hands the answer to the dispatcher, which is outside ("Capturing
    records of Lambda asynchronous invocations").
    """

    def __init__(self, scope: Construct, shared: Shared, dispatcher: Destination) -> None:
        super().__init__(scope, "Watchdog")
        off = ",".join(sorted(shared.environment.schedules_off))
        function = PlatformFunction(
            self,
            "watchdog",
            shared,
            description="Compares ledger and clock each minute; what it returns goes to the dispatcher",
            handler=HANDLER,
            timeout=TIMEOUT,
            variables={**shared.work_variables, "SHIFTLOCK_SCHEDULES_OFF": off},
            # It sends what the outbox holds, of any job.
            statements=[*send_grants(self, shared.catalogue, shared.environment)],
            calls=Calls(retries=0, age=AGE, on_failure=shared.dead_letters.destination, on_success=dispatcher),
            with_database=True,
        )
        platform_rule(
            self,
            watchdog_rule(shared.environment),
            function,
            shared,
            description="Calls the watchdog each minute",
            schedule=every(minutes=1).aws,
            age=AGE,
        )


def watchdog_rule(environment: Environment) -> str:
    """Name of the rule."""
    return environment.platform_name("watchdog")
