"""Messages as a person looks at them: taken for a moment, and given back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from handlers.queues.fitting import MalformedMessage
from handlers.queues.message import Message, read_message

BATCH = 10  # "Amazon SQS message quotas"
# Seconds that a receipt waits, so that all of SQS's servers are asked ("Short and long polling").
WAIT = 1
# Seconds that messages are hidden while they are looked at.
HIDDEN = 300


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that was taken. receives: how often, this time included. said: its attributes, such as the reason."""

    id: str
    receipt: str
    body: str
    receives: int
    sent_at: datetime
    group: str | None = None
    said: dict[str, str] = field(default_factory=dict)

    def read(self) -> Message:
        """What it says. Raises MalformedMessage."""
        return read_message(self.body)

    @property
    def key(self) -> str | None:
        """The key of its run; None for a malformed one."""
        try:
            return self.read().key
        except MalformedMessage:
            return None


@contextmanager
def taken(sqs: Any, url: str, *, until: datetime | None = None) -> Iterator[Iterator[Letter]]:
    """Yield the messages that are visible, each once; those that are there at the end of the block are given back.

    until: only those that had been sent by then (aware); None for all.
    """
    receipts: list[str] = []
    try:
        yield _each(sqs, url, receipts, until or datetime.max.replace(tzinfo=UTC))
    finally:
        give_back(sqs, url, receipts)


def give_back(sqs: Any, url: str, receipts: Sequence[str]) -> None:
    """Show messages again at once. One that was deleted meanwhile is none any more, and nothing is said of it."""
    for begin in range(0, len(receipts), BATCH):
        entries = [
            {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
            for number, receipt in enumerate(receipts[begin : begin + BATCH])
        ]
        sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)


def _each(sqs: Any, url: str, receipts: list[str], until: datetime) -> Iterator[Letter]:
    seen: set[str] = set()
    newer = 0
    while True:
        answer = sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=BATCH,
            VisibilityTimeout=HIDDEN,
            WaitTimeSeconds=WAIT,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages = answer.get("Messages", [])
        receipts += [message["ReceiptHandle"] for message in messages]
        letters = [letter for letter in map(_letter, messages) if letter.id not in seen]
        asked = [letter for letter in letters if letter.sent_at <= until]
        seen.update(letter.id for letter in letters)
        newer += len(letters) - len(asked)
        # A letter that is sent anew may come back once. What is more than that others send, who may never be done.
        if not letters or (not asked and newer >= len(seen) - newer):
            return
        yield from asked


def _letter(message: dict[str, Any]) -> Letter:
    attributes = message["Attributes"]
    return Letter(
        message["MessageId"],
        message["ReceiptHandle"],
        message["Body"],
        receives=int(attributes["ApproximateReceiveCount"]),
        sent_at=datetime.fromtimestamp(int(attributes["SentTimestamp"]) / 1000, UTC),
        group=attributes.get("MessageGroupId"),
        said={
            name: attribute["StringValue"]
            for name, attribute in message.get("MessageAttributes", {}).items()
            if "StringValue" in attribute
        },
    )
