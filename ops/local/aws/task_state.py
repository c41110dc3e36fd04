"""The recorded state of a task, and the event that each change of it sends.

Source: Amazon ECS Developer Guide, "Amazon ECS task state change events".
"""

import json
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from ops.local.aws.internals import ecs, eventbridge
from ops.local.aws.settings import ACCOUNT

# A task as ministack records it and DescribeTasks shows it.
Task = dict[str, Any]


def placed(task: Task) -> None:
    """The task is accepted and nothing runs yet."""
    task.update(lastStatus="PROVISIONING", startedAt=None)
    for container in task["containers"]:
        container["lastStatus"] = "PENDING"


def running(task: Task, region: str) -> None:
    """The container has started."""
    for container in task["containers"]:
        container["lastStatus"] = "RUNNING"
    _changed(task, region, lastStatus="RUNNING", startedAt=_now())


def stopping(task: Task, region: str, reason: str) -> None:
    """Somebody has asked for the end."""
    _changed(task, region, desiredStatus="STOPPED", stoppingAt=_now(), stopCode="UserInitiated", stoppedReason=reason)


def stopped(
    task: Task, region: str, stop_code: str, reason: str, exit_code: int | None, of_container: str | None = None
) -> None:
    """The task is over; no exit code when its container never started. The reason of a StopTask is kept.

    of_container: why its container ended, where ECS knows more than the exit code.
    """
    for container in task["containers"]:
        container["lastStatus"] = "STOPPED"
        if exit_code is None:
            container.pop("exitCode", None)
            container["reason"] = reason
        else:
            container["exitCode"] = exit_code
            if of_container is not None:
                container["reason"] = of_container
    if task["desiredStatus"] != "STOPPED":
        task.update(desiredStatus="STOPPED", stoppingAt=_now(), stopCode=stop_code, stoppedReason=reason)
    _changed(task, region, lastStatus="STOPPED", stoppedAt=_now(), executionStoppedAt=_now())
    ecs._recount_cluster(ecs._cluster_name_from_arn(task["clusterArn"]))


def _changed(task: Task, region: str, **fields: object) -> None:
    task.update(fields, version=task["version"] + 1, updatedAt=_now())
    eventbridge._dispatch_event(
        {
            "EventId": str(uuid.uuid4()),
            "Source": "aws.ecs",
            "DetailType": "ECS Task State Change",
            "EventBusName": "default",
            "Detail": json.dumps({key: value for key, value in ecs._sanitize(task).items() if key != "tags"}),
            "Time": time.time(),
            "Resources": [task["taskArn"]],
            "Account": ACCOUNT,
            "Region": region,
        }
    )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
