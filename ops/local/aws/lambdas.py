"""Asynchronous invocations as Lambda makes them: retries, then a destination or the dead-letter queue.

ministack retries, but knows no on-success destination, counts every failure as three attempts and sends a dead-letter
queue the record that belongs to a destination. Source: Lambda Developer Guide, "Capturing records of Lambda
asynchronous invocations".
"""

import json
import logging
import threading
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ops.local.aws.delivery import Courier, Undeliverable
from ops.local.aws.internals import lambda_svc, request_scope
from ops.local.aws.output import LogFolder
from ops.local.aws.settings import ACCOUNT
from ops.local.aws.under_way import UnderWay

logger = logging.getLogger("shiftlock.local.lambdas")

DEFAULT_RETRIES = 2
# Lambda waits one minute, then two; a person at a laptop would not.
SECONDS_BEFORE_RETRY = 1.0


class _Latest(threading.local):
    """The id of the invocation that this thread carried out last; ministack gives it to nobody but its logs."""

    request_id = ""


_LATEST = _Latest()


def install(courier: Courier, region: str, logs: LogFolder, under_way: UnderWay) -> None:
    """Replaces ministack's asynchronous path, and copies what functions print to their files."""
    emit = lambda_svc._emit_lambda_logs

    def emit_and_copy(func: Any, request_id: str, log_text: str, *rest: Any, **named: Any) -> None:
        _LATEST.request_id = request_id
        if log_text:
            logs.append(func["config"]["FunctionName"], log_text)
        emit(func, request_id, log_text, *rest, **named)

    def invoke_later(func: dict[str, Any], event: Any) -> None:
        under_way.begin()
        threading.Thread(target=invoke, args=(func, event), daemon=True).start()

    def invoke(func: dict[str, Any], event: Any) -> None:
        with under_way.until_done():
            _invoke(func, event, courier, region)

    lambda_svc._emit_lambda_logs = emit_and_copy
    lambda_svc.invoke_async_with_retry = invoke_later


def _invoke(func: dict[str, Any], event: Any, courier: Courier, region: str) -> None:
    config = func["config"]
    with request_scope(ACCOUNT, region):
        settings = lambda_svc._event_invoke_config(func, "$LATEST") or {}
        retries = settings.get("MaximumRetryAttempts")
        attempts = 1 + (DEFAULT_RETRIES if retries is None else int(retries))
        for attempt in range(1, attempts + 1):
            if attempt > 1:
                time.sleep(SECONDS_BEFORE_RETRY)  # as Lambda does, and in a thread of this call alone
            result = lambda_svc._execute_function(func, event)
            if not result.get("error"):
                break
    failed = bool(result.get("error"))
    destinations = settings.get("DestinationConfig") or {}
    destination = (destinations.get("OnFailure" if failed else "OnSuccess") or {}).get("Destination")
    dead_letters = (config.get("DeadLetterConfig") or {}).get("TargetArn") if failed else None
    try:
        if destination:
            courier.deliver(destination, json.dumps(_record(config, event, result, attempt)))
        if dead_letters:
            courier.deliver(dead_letters, json.dumps(event), _reason(result))
    except Undeliverable as error:
        logger.warning("record of %s is lost: %s", config["FunctionName"], error)


def _record(config: Mapping[str, Any], event: Any, result: Mapping[str, Any], attempts: int) -> dict[str, Any]:
    failed = bool(result.get("error"))
    context: dict[str, Any] = {"statusCode": 200, "executedVersion": config.get("Version", "$LATEST")}
    if failed:
        context["functionError"] = result.get("function_error") or "Unhandled"
    return {
        "version": "1.0",
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "requestContext": {
            "requestId": _LATEST.request_id,
            "functionArn": f"{config['FunctionArn']}:$LATEST",
            "condition": "RetriesExhausted" if failed else "Success",
            "approximateInvokeCount": attempts,
        },
        "requestPayload": event,
        "responseContext": context,
        "responsePayload": result.get("body"),
    }


def _reason(result: Mapping[str, Any]) -> dict[str, str]:
    body = result.get("body")
    message = body.get("errorMessage", "") if isinstance(body, dict) else ""
    return {"RequestID": str(uuid.uuid4()), "ErrorCode": "200", "ErrorMessage": message[:1024] or "unknown"}
