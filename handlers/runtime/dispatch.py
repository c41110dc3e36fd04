"""Start runs on Lambda and Fargate, and stop tasks: idempotent calls, each answer read, each failure with its reason.

EventBridge would call a RunTask that answers 200 with `failures` a success (aws/containers-roadmap #1705).
"""

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from handlers.declaration.catalogue import Catalogue, UnknownJob
from handlers.declaration.duration import seconds
from handlers.declaration.placement import place
from handlers.declaration.policy import Retry
from handlers.runtime.log_link import CONTAINER

# A start that meets a full region or a throttled API is tried again while the pass lasts; after that it has failed, and
# the ledger tries it again later.
TRIES = Retry(attempts=4, base=seconds(1), cap=seconds(8))
# "Common errors", Amazon ECS and AWS Lambda API references, and the reasons of RunTask's `failures` ("API failure
# reasons", Amazon ECS developer guide): what another try may find better.
PASSING = frozenset(
    {"ThrottlingException", "TooManyRequestsException", "ServerException", "ServiceException", "Throttling"}
)
PASSING_FAILURES = ("RESOURCE:", "AGENT", "CAPACITY", "Capacity is unavailable", "throttl")

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the jobs of an environment are. subnets, security_group: of tasks; lambda_ceiling: see `place`."""

    prefix: str
    cluster: str
    subnets: tuple[str, ...]
    security_group: str
    public_ip: str
    lambda_ceiling: timedelta


class NotStarted(Exception):
    """A start came to nothing; the message is the reason. passing: another try may go better."""

    def __init__(self, reason: str, *, passing: bool) -> None:
        self.passing = passing
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Carries out the watchdog's orders. sleep: waits so many seconds between two tries."""

    catalogue: Catalogue
    place: Place
    lambdas: Any
    ecs: Any
    sleep: Callable[[float], object] = time.sleep

    def start(self, order: Json) -> dict[str, Any]:
        """Start a run; the order's job, run and attempt with `compute` and `task`, or with the `reason` it failed."""
        known = {name: order[name] for name in ("job", "run", "attempt")}
        for failed in range(1, TRIES.attempts + 1):
            try:
                return known | self._start(order)
            except NotStarted as error:
                if failed == TRIES.attempts or not error.passing:
                    return known | {"reason": str(error)}
            self.sleep(TRIES.longest_wait(failed).total_seconds() * random.random())  # noqa: S311 - spreads load
        raise AssertionError("every try returns")

    def stop(self, order: Json) -> dict[str, Any]:
        """Stop a task; the order's job, run and task, or with a `reason`. A task that is gone is stopped."""
        known = {name: order[name] for name in ("job", "run", "task")}
        try:
            self.ecs.stop_task(cluster=self.place.cluster, task=order["task"], reason=f"Shiftlock: {order['because']}")
        except ClientError as error:
            if "not found" not in _said(error):
                return known | {"reason": _said(error)}
        except BotoCoreError as error:
            return known | {"reason": str(error)}
        return known

    def _start(self, order: Json) -> dict[str, Any]:
        try:
            placement = place(self.catalogue.find(order["job"]), lambda_ceiling=self.place.lambda_ceiling)
        except UnknownJob as error:
            raise NotStarted(str(error), passing=False) from error
        try:
            return self._invoke(order) if placement.compute == "lambda" else self._run_task(order)
        except ClientError as error:
            raise NotStarted(_said(error), passing=error.response["Error"]["Code"] in PASSING) from error
        except BotoCoreError as error:
            raise NotStarted(str(error), passing=True) from error

    def _invoke(self, order: Json) -> dict[str, Any]:
        self.lambdas.invoke(
            FunctionName=f"{self.place.prefix}-{order['job']}",
            InvocationType="Event",
            # The attempt is for the recorder, should the call come to nothing.
            Payload=json.dumps({name: order[name] for name in ("trigger", "run", "attempt")}).encode(),
        )
        return {"compute": "lambda", "task": None}

    def _run_task(self, order: Json) -> dict[str, Any]:
        variables = {"SHIFTLOCK_TRIGGER": order["trigger"], "SHIFTLOCK_RUN": str(order["run"])}
        answer = self.ecs.run_task(
            cluster=self.place.cluster,
            taskDefinition=f"{self.place.prefix}-{order['job']}",
            launchType="FARGATE",
            count=1,
            clientToken=order["token"],  # one task for one order, however often it is sent
            startedBy="shiftlock-dispatcher",
            networkConfiguration={
                "awsvpcConfiguration": {
                    "subnets": list(self.place.subnets),
                    "securityGroups": [self.place.security_group],
                    "assignPublicIp": self.place.public_ip,
                }
            },
            overrides={
                "containerOverrides": [
                    {
                        "name": CONTAINER,
                        "environment": [{"name": name, "value": value} for name, value in variables.items()],
                    }
                ]
            },
        )
        for failure in answer.get("failures", ()):
            reason = f"RunTask: {failure.get('reason', 'no reason given')} {failure.get('detail', '')}".strip()
            raise NotStarted(reason, passing=any(word in reason for word in PASSING_FAILURES))
        if not answer.get("tasks"):
            raise NotStarted("RunTask: it names neither a task nor a failure", passing=True)
        task = answer["tasks"][0]
        return {"compute": "fargate", "task": task["taskArn"]}


def _said(error: ClientError) -> str:
    told = error.response["Error"]
    return f"{told.get('Code', 'Unknown')}: {told.get('Message', 'no message')}"
