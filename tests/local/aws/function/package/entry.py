"""A function that tells the listening test what it got, then does as the event says."""

import json
import os
import signal
import socket
import sys
from typing import Any

import boto3


class Interrupted(Exception):
    """The timer rang."""


def handler(event: dict[str, Any], context: Any) -> object:
    sys.stdout.write(f"printed by {os.environ['NAME']}\n")
    tell(
        {
            "from": os.environ["NAME"],
            "event": event,
            "pid": os.getpid(),
            "request": context.aws_request_id,
            "remaining": context.get_remaining_time_in_millis(),
            "environment": dict(os.environ),
            "executable": sys.executable,
        }
    )
    if "Records" in event:
        return {"batchItemFailures": [{"itemIdentifier": name} for name in map(failed, event["Records"]) if name]}
    if said := event.get("say"):
        sys.stdout.write(f"{said}\n")
    match event.get("do"):
        case "fail":
            raise ValueError("as asked")
        case "hang":
            signal.pause()
        case "deadline":
            return deadline()
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
    return {"answer": event.get("time")}


def failed(record: dict[str, Any]) -> str | None:
    """Does as a message says; its id when it is to stay in the queue."""
    said = json.loads(record["body"])
    match said.get("do"):
        case "fail":
            raise ValueError("as asked")
        case "keep":
            return str(record["messageId"])
        case "hide":
            boto3.client("sqs").change_message_visibility(
                QueueUrl=said["queue"], ReceiptHandle=record["receiptHandle"], VisibilityTimeout=said["seconds"]
            )
            return str(record["messageId"])
        case "meet":
            with socket.create_connection(("127.0.0.1", said["port"])) as test:
                test.recv(1)
    return None


def deadline() -> object:
    def interrupt(number: int, frame: object) -> None:
        raise Interrupted

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        signal.pause()
    except Interrupted:
        return {"interrupted": True}
    return {"interrupted": False}


def tell(what: object) -> None:
    with socket.create_connection(("127.0.0.1", int(os.environ["TEST_PORT"]))) as test:
        test.sendall(json.dumps(what).encode())
