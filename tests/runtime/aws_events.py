"""Events as AWS sends them: "Amazon ECS task state change events" in the ECS developer guide, "Capturing records of
Lambda asynchronous invocations" in the Lambda developer guide."""

from typing import Any

PREFIX = "shiftlock-dev"
CLUSTER = "arn:aws:ecs:eu-central-1:111122223333:cluster/shiftlock-dev"
TASK = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
REQUEST = "b5c2f1de-3f4a-4c55-9d0e-2f1f6f3c9a11"
CREATED = "2026-11-29T02:00:11.123Z"
OF_THE_TICK = {"SHIFTLOCK_TRIGGER": "rule", "SHIFTLOCK_EVENT_TIME": "2026-11-29T02:00:07Z"}
FAILED_TO_START: dict[str, Any] = {"stopCode": "TaskFailedToStart", "startedAt": None}


def stopped_task(
    *,
    exit_code: int | None = None,
    reason: str | None = None,
    others: tuple[dict[str, Any], ...] = (),
    variables: dict[str, str] = OF_THE_TICK,
    job: str = "sample",
    task: str = TASK,
    container: str = "job",
    **detail: Any,
) -> dict[str, Any]:
    """A task that has stopped. reason: of the job's container. others: containers beside it. detail: what else to say,
    with None for what AWS leaves out."""
    arn = f"arn:aws:ecs:eu-central-1:111122223333:task/shiftlock-dev/{task}"
    own = {"name": container, "lastStatus": "STOPPED", "taskArn": arn, "exitCode": exit_code, "reason": reason}
    said = {
        "taskArn": arn,
        "clusterArn": CLUSTER,
        "taskDefinitionArn": f"arn:aws:ecs:eu-central-1:111122223333:task-definition/{PREFIX}-{job}:7",
        "group": f"family:{PREFIX}-{job}",
        "launchType": "FARGATE",
        "desiredStatus": "STOPPED",
        "lastStatus": "STOPPED",
        "createdAt": CREATED,
        "startedAt": "2026-11-29T02:00:41.5Z",
        "stoppedAt": "2026-11-29T02:03:41.5Z",
        "stopCode": "EssentialContainerExited",
        "stoppedReason": "Essential container in task exited",
        "containers": [*others, without_none(own)],
        "overrides": {
            "containerOverrides": [
                {
                    "name": container,
                    "environment": [{"name": name, "value": value} for name, value in variables.items()],
                }
            ]
        },
        "version": 5,
    }
    return {
        "version": "0",
        "id": "105f6bb1-4da6-c630-4965-35383018cba4",
        "detail-type": "ECS Task State Change",
        "source": "aws.ecs",
        "account": "111122223333",
        "time": "2026-11-29T02:03:42Z",
        "region": "eu-central-1",
        "resources": [arn],
        "detail": without_none(said | detail),
    }


def call_record(
    *,
    answer: object,
    payload: object,
    condition: str = "RetriesExhausted",
    function: str = f"{PREFIX}-sample",
    request: str = REQUEST,
) -> dict[str, Any]:
    """Lambda's record of a call, as a destination gets it."""
    return {
        "version": "1.0",
        "timestamp": "2026-11-29T02:05:07.500Z",
        "requestContext": {
            "requestId": request,
            "functionArn": f"arn:aws:lambda:eu-central-1:111122223333:function:{function}:$LATEST",
            "condition": condition,
            "approximateInvokeCount": 1,
        },
        "requestPayload": payload,
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
        "responsePayload": answer,
    }


def failed_call(
    kind: str, message: str, *, payload: object = None, request: str = REQUEST, condition: str = "RetriesExhausted"
) -> dict[str, Any]:
    """The record of a failed call, of the rule's at 02:00 if no payload is given."""
    return call_record(
        answer={"errorType": kind, "errorMessage": message},
        payload={"trigger": "rule", "time": "2026-11-29T02:00:07Z"} if payload is None else payload,
        condition=condition,
        request=request,
    )


def dispatched(*failed: dict[str, Any]) -> dict[str, Any]:
    """The record of a dispatcher that started one run, and not these."""
    return call_record(
        answer={
            "started": [{"job": "sample", "run": 1, "attempt": 0, "compute": "lambda", "task": None}],
            "failed": list(failed),
            "stopped": [{"job": "sample", "run": 2, "task": TASK}],
            "not_stopped": [{"job": "sample", "run": 3, "task": TASK, "reason": "AccessDeniedException: no"}],
        },
        payload={},
        condition="Success",
        function=f"{PREFIX}_dispatcher",
    )


def without_none(record: dict[str, Any]) -> dict[str, Any]:
    """The record as AWS writes it, which leaves out what it has not."""
    return {name: value for name, value in record.items() if value is not None}
