"""A queue of a test's own that feeds a function of the sample app."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.local.aws.cloud import Cloud

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Feed:
    """A queue, its dead-letter queue, and the mapping between it and the function called worker."""

    cloud: Cloud
    name: str
    url: str
    dead_letters: str
    mapping: str

    def send(self, *bodies: dict[str, object], group: str | None = None) -> None:
        """Sends messages that are to be received together, where there is room for a batch of them."""
        fifo = {"MessageGroupId": group} if group else {}
        self.cloud.aws.client("sqs").send_message_batch(
            QueueUrl=self.url,
            Entries=[
                {"Id": str(number), "MessageBody": json.dumps(body), **fifo} for number, body in enumerate(bodies)
            ],
        )

    def records(self) -> list[dict[str, Any]]:
        """The records of the next call of the function."""
        report = self.cloud.listener.wait(lambda report: _queue_of(report) == self.name)
        records: list[dict[str, Any]] = report["event"]["Records"]
        return records

    def bodies(self) -> list[dict[str, Any]]:
        """What the messages of the next call of the function say."""
        return [json.loads(record["body"]) for record in self.records()]

    def counts(self) -> Sequence[int]:
        """How many messages are visible and how many in flight."""
        attributes = self.cloud.aws.client("sqs").get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])
        kinds = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        return [int(attributes["Attributes"][kind]) for kind in kinds]


def open_feed(
    cloud: Cloud, *, receives: int = 100, fifo: bool = False, batch: int = 10, at_once: int = 5, **attributes: str
) -> Feed:
    """A new queue whose messages go to the function; the attributes are the queue's."""
    sqs, functions = cloud.aws.client("sqs"), cloud.aws.client("lambda")
    name, ending = f"feed-{next(_numbers)}", ".fifo" if fifo else ""
    kind = {"FifoQueue": "true", "ContentBasedDeduplication": "true"} if fifo else {}
    dead_letters = sqs.create_queue(QueueName=f"{name}-dead{ending}", Attributes=kind)["QueueUrl"]
    prefix = f"arn:aws:sqs:{cloud.aws.region}:{cloud.aws.account}:{name}"
    redrive = {"deadLetterTargetArn": f"{prefix}-dead{ending}", "maxReceiveCount": receives}
    url = sqs.create_queue(
        QueueName=name + ending, Attributes={**kind, "RedrivePolicy": json.dumps(redrive), **attributes}
    )["QueueUrl"]
    mapping = functions.create_event_source_mapping(
        EventSourceArn=prefix + ending,
        FunctionName="worker",
        BatchSize=batch,
        FunctionResponseTypes=["ReportBatchItemFailures"],
        ScalingConfig={"MaximumConcurrency": at_once},
    )
    return Feed(cloud, name + ending, url, dead_letters, mapping["UUID"])


def _queue_of(report: dict[str, Any]) -> str | None:
    records = report.get("event", {}).get("Records")
    return records[0]["eventSourceARN"].rpartition(":")[2] if records else None
