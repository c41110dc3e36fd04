"""The local AWS of a test process with the sample app in it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from tests.local.aws.listener import Listener

STACKS = ("sample-base", "sample-jobs")
DATABASE = ("127.0.0.1", 54321)


@dataclass(frozen=True, slots=True)
class Cloud:
    """A local AWS with the sample deployed, and what its functions and tasks report."""

    aws: LocalAws
    settings: Settings
    outputs: dict[str, dict[str, str]]
    listener: Listener


def iso(tick: datetime) -> str:
    """A scheduled time as EventBridge writes it."""
    return tick.strftime("%Y-%m-%dT%H:%M:%SZ")


def message(cloud: Cloud, queue: str) -> dict[str, Any]:
    """The next message of a queue, taken out."""
    sqs = cloud.aws.client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    answer = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, MessageAttributeNames=["All"])
    found: dict[str, Any] = answer["Messages"][0]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=found["ReceiptHandle"])
    return found
