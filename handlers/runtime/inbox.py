"""A job's queue as its consumer sees it: take a message, hide it for a while, delete it, put it to the dead letters.

Only a call imports the SDK: of a batch that succeeds, Lambda itself deletes the messages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import ceil
from typing import Any, Literal

from aws_lambda_powertools.logging import Logger

from handlers.declaration.duration import seconds
from handlers.declaration.queue import LONGEST_VISIBILITY
from handlers.queues.address import FIFO

ATTRIBUTES = ("ApproximateReceiveCount", "SentTimestamp", "MessageGroupId")
# Answers that say that a receipt is worth nothing any more: it has run out, or the message is deleted. "Errors" of
# ChangeMessageVisibility and DeleteMessage, Amazon SQS API reference; FIFO queues say InvalidParameterValue.
GONE = frozenset({"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue", "InvalidIdFormat"})
# Between SQS's receipt and ours some time has passed that nobody has measured.
UNMEASURED = seconds(60)
LONGEST_REASON = 1000  # characters; a copy must have room for it within SQS's 1 MiB


# done: as asked. gone: the receipt has run out, or the message is deleted. unheard: the message comes back by itself.
Heard = Literal["done", "gone", "unheard"]


class NoAnswer(Exception):
    """SQS could not be asked, or refuses: which call, of which queue, and why. code: SQS's own word, if it is one."""

    def __init__(self, operation: str, queue: str, reason: str, code: str | None = None) -> None:
        self.code = code
        super().__init__(f"{operation} of {queue}: {reason}")


@dataclass(frozen=True, slots=True)
class Received:
    """A message that was taken. receives: how often, this time included. group: of a FIFO queue. taken_at: when, on the
    monotonic clock."""

    id: str
    receipt: str
    body: str
    receives: int = 1
    sent_at: datetime | None = None
    group: str | None = None
    taken_at: float = field(default_factory=time.monotonic)


def of_record(record: Mapping[str, Any]) -> Received:
    """The message of a record of Lambda's event. Raises KeyError for what is no such record."""
    return _received(record["messageId"], record["receiptHandle"], record["body"], record.get("attributes", {}))


def of_answer(message: Mapping[str, Any]) -> Received:
    """The message of an answer to ReceiveMessage."""
    return _received(message["MessageId"], message["ReceiptHandle"], message["Body"], message.get("Attributes", {}))


def _received(name: str, receipt: str, body: str, attributes: Mapping[str, str]) -> Received:
    sent = attributes.get("SentTimestamp")
    return Received(
        name,
        receipt,
        body,
        receives=int(attributes.get("ApproximateReceiveCount", 1)),
        sent_at=None if sent is None else datetime.fromtimestamp(int(sent) / 1000, UTC),
        group=attributes.get("MessageGroupId"),
    )


class Inbox:
    """The queue and its dead letters, by URL. connect: the SDK's client, asked for at the first call.

    gives_up: after one call that came nowhere no more are tried. Each waits for seconds, and a function is paid for by
    the second; for a worker it is as well to try.
    """

    def __init__(
        self, queue: str, dead_letters: str, log: Logger, connect: Callable[[], Any], *, gives_up: bool = False
    ) -> None:
        self._queue = queue
        self._dead_letters = dead_letters
        self._log = log
        self._connect = connect
        self._gives_up = gives_up
        self._out_of_reach = False

    def receive(self, wait: int) -> list[Received]:
        """The next message, if one comes within `wait` seconds (at most 20). Raises NoAnswer."""
        answer = self._call(
            "receive_message",
            self._queue,
            MaxNumberOfMessages=1,
            WaitTimeSeconds=wait,
            AttributeNames=list(ATTRIBUTES),
        )
        return [of_answer(message) for message in answer.get("Messages", [])]

    def delete(self, received: Received) -> Heard:
        """Delete it. One that was not is shown again, and its run is done already."""
        return self._told("delete_message", received)

    def hide(self, received: Received, wait: timedelta) -> Heard:
        """Show it again after `wait`, sooner where SQS hides none so long."""
        return self._told("change_message_visibility", received, VisibilityTimeout=visible_in(wait, _age(received)))

    def bury(self, received: Received, *, reason: str, job: str, run_id: int) -> bool:
        """Put a copy to the dead letters, with its reason; whether it is there now."""
        facts = {"Reason": _attribute_text(reason), "Job": job, "Run": str(run_id)}
        ordered = self._dead_letters.endswith(FIFO)
        fifo = {"MessageGroupId": received.group, "MessageDeduplicationId": received.id} if ordered else {}
        try:
            self._call(
                "send_message",
                self._dead_letters,
                MessageBody=received.body,
                MessageAttributes={name: {"DataType": "String", "StringValue": text} for name, text in facts.items()},
                **fifo,
            )
        except NoAnswer as error:
            self._warn("not put to the dead letters", error)
            return False
        return True

    def _told(self, operation: str, received: Received, **facts: object) -> Heard:
        try:
            self._call(operation, self._queue, ReceiptHandle=received.receipt, **facts)
        except NoAnswer as error:
            if error.code in GONE:
                self._log.info("the message is not ours any more", extra={"because": str(error)})
                return "gone"
            self._warn("the queue does not listen: the message comes back by itself", error)
            return "unheard"
        return "done"

    def _warn(self, what: str, error: NoAnswer) -> None:
        # Without a code it came nowhere: said once by who gives up then.
        if error.code is not None or not self._out_of_reach:
            self._log.warning(what, extra={"because": str(error)})
        self._out_of_reach = self._gives_up and error.code is None

    def _call(self, operation: str, queue: str, **facts: object) -> dict[str, Any]:
        if self._out_of_reach:
            raise NoAnswer(operation, queue, "SQS was out of reach a moment ago")
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer: dict[str, Any] = getattr(self._client, operation)(QueueUrl=queue, **facts)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            raise NoAnswer(operation, queue, str(error), code.rpartition(".")[2]) from error
        except BotoCoreError as error:
            raise NoAnswer(operation, queue, str(error)) from error
        return answer

    @cached_property
    def _client(self) -> Any:
        return self._connect()


def visible_in(wait: timedelta, age: timedelta) -> int:
    """Whole seconds to hide a message for that was taken `age` ago."""
    left = LONGEST_VISIBILITY - age - UNMEASURED
    return max(0, min(ceil(wait.total_seconds()), int(left.total_seconds())))


def _age(received: Received) -> timedelta:
    return timedelta(seconds=time.monotonic() - received.taken_at)


def _attribute_text(text: str) -> str:
    """The text as an attribute can hold it: not empty, and of characters that SQS takes."""
    shown = "".join(each if each.isprintable() else " " for each in text[:LONGEST_REASON])
    return shown.strip() or "no reason is known"
