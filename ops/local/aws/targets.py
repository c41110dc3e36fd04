"""What a rule or a schedule starts: tasks and functions, as EventBridge and EventBridge Scheduler start them.

ministack drops targets on ECS, leaves the Scheduler's context attributes as they are, invokes a function without
retries or destinations, and knows no dead-letter queue of a target.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from ops.local.aws.delivery import Courier, Undeliverable
from ops.local.aws.internals import eventbridge, request_scope
from ops.local.aws.settings import ACCOUNT
from ops.local.aws.under_way import UnderWay

logger = logging.getLogger("shiftlock.local.targets")

Record = Mapping[str, Any]

# EventBridge Scheduler User Guide, "Adding context attributes".
_CONTEXT_ATTRIBUTE = re.compile(r"<aws\.scheduler\.([a-z-]+)>")


class Targets:
    """Starts the targets of the rules and schedules of one local AWS."""

    def __init__(self, courier: Courier, region: str, under_way: UnderWay) -> None:
        self._courier = courier
        self._region = region
        self._under_way = under_way
        self._others: Callable[..., None] = eventbridge._invoke_target
        # A matching event can come from the thread that serves requests, and a delivery is a request: never wait there.
        self._pool = ThreadPoolExecutor(8, "target")

    def install(self) -> None:
        """Takes over from ministack whatever rule matches an event."""

        def later(target: Record, event: Record, rule: Record, view: object = None) -> None:
            self._under_way.begin()
            self._pool.submit(deliver, target, event, rule)

        def deliver(target: Record, event: Record, rule: Record) -> None:
            with self._under_way.until_done():
                self.start_or_bury(target, event, rule)

        eventbridge._invoke_target = later

    def start_or_bury(self, target: Record, event: Record, rule: Record) -> Sequence[str]:
        """Starts a target; answers the ARNs of what started.

        One that does not start goes to its dead-letter queue, or to the log when it has none.
        """
        try:
            return self.start(target, event, rule)
        except Undeliverable as error:
            logger.warning("%s did not start its target: %s", rule["Arn"], error)
            self._bury(target, event, rule, str(error))
        except Exception:  # whatever it is, one target must not take the others with it
            # The last frame of a pool thread.
            logger.exception("%s did not start its target", rule["Arn"])
        return []

    def start(self, target: Record, event: Record, rule: Record) -> Sequence[str]:
        """Starts a target now; answers the ARNs of what started. Raises Undeliverable when it does not start."""
        arn: str = target["Arn"]
        service = arn.split(":")[2]
        with request_scope(ACCOUNT, self._region):
            payload = _payload(target, event, rule)
            if service == "ecs":
                started_by = ("chronos-schedule/" if "Target" in rule else "events-rule/") + rule["Name"]
                return self._courier.run_task(arn, target["EcsParameters"], payload, started_by)
            if service == "lambda":
                self._courier.deliver(arn, payload)
            else:
                self._others({"Id": target.get("Id", ""), "Arn": arn, "Input": payload}, event, rule)
        return [arn]

    def _bury(self, target: Record, event: Record, rule: Record, reason: str) -> None:
        queue = (target.get("DeadLetterConfig") or {}).get("Arn")
        if not queue:
            return
        # EventBridge User Guide, "Using dead-letter queues to process undelivered events": the attribute names.
        attributes = {
            "RULE_ARN": rule["Arn"],
            "TARGET_ARN": target["Arn"],
            "ERROR_CODE": "SDK_CLIENT_ERROR",
            "ERROR_MESSAGE": reason[:1024],
        }
        try:
            with request_scope(ACCOUNT, self._region):
                self._courier.deliver(queue, _payload(target, event, rule), attributes)
        except Undeliverable as error:
            logger.error("the event of %s is lost: %s", rule["Arn"], error)


def _payload(target: Record, event: Record, rule: Record) -> str:
    view = eventbridge._pattern_event_view(event)
    if transformer := target.get("InputTransformer"):
        return str(eventbridge._apply_input_transformer(transformer, rule, view))
    if given := target.get("Input"):
        return _with_context(given, event, rule) if "Target" in rule else str(given)
    whole: Any = view.event_with_detail()
    for step in filter(None, target.get("InputPath", "").lstrip("$").split(".")):
        whole = whole[step]
    return json.dumps(whole)


def _with_context(template: str, event: Record, schedule: Record) -> str:
    known = {
        "scheduled-time": datetime.fromtimestamp(event["Time"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "schedule-arn": schedule["Arn"],
        "execution-id": event["EventId"],
        "attempt-number": "1",
    }
    return _CONTEXT_ATTRIBUTE.sub(lambda found: known.get(found[1], found[0]), template)
