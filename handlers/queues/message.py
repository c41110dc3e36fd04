"""`Message`: what is sent through a queue, as JSON text. A doorbell: the run that it rings for is in the ledger."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from handlers.declaration.job import LONGEST_NAME, NAME
from handlers.queues.fitting import MalformedMessage, unfit_payload, unfit_text
from handlers.queues.trace import LONGEST_TRACE

TYPE = "shiftlock.run/1"
# The ledger's index takes 2,704 bytes of job and key together (PostgreSQL manual, "B-Tree Indexes"); a character may
# be four.
LONGEST_KEY = 512
# What the ledger has in the place of a payload that is in S3: the payload's address under this name alone.
ELSEWHERE = "shiftlock.payload_at"

# "SendMessage", Amazon SQS API reference: a message group's name is of letters, digits and ASCII punctuation.
GROUP = re.compile(r"[!-~]{1,128}")
# Characters that JSON need not escape and SQS takes in no message ("SendMessage", MessageBody).
NOT_CHARACTERS = {"\ufffe": "\\ufffe", "\uffff": "\\uffff"}


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Message:
    """A run of a job: its key, and what it is to work on.

    key: what makes two messages the same run; the sender's. partition: see `Delivery`. payload: None when it is in S3,
    at `payload_at` (`s3://bucket/key`). sent_at: aware UTC. trace: the sender's trace header, as it was.
    """

    job: str
    key: str
    payload: Mapping[str, Any] | None
    partition: str | None = None
    payload_at: str | None = None
    sent_at: datetime = field(default_factory=_now)
    trace: str | None = None

    def to_json(self) -> str:
        """The message's body: text that SQS takes and the ledger can hold. Raises MalformedMessage."""
        if wrong := _complaint(self):
            raise MalformedMessage(wrong)
        facts: dict[str, Any] = {
            "type": TYPE,
            "job": self.job,
            "key": self.key,
            "partition": self.partition,
            "payload": None if self.payload is None else dict(self.payload),
        }
        if self.payload_at is not None:
            facts["payload_at"] = self.payload_at
        facts |= {"sent": self.sent_at.astimezone(UTC).isoformat(), "trace": self.trace}
        text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        for character, escaped in NOT_CHARACTERS.items():
            text = text.replace(character, escaped)
        return text

    @property
    def ledger_payload(self) -> dict[str, Any]:
        """The payload as the ledger has it, by which two messages of one key are told to be the same work."""
        return {ELSEWHERE: self.payload_at} if self.payload is None else dict(self.payload)


def of_run(job: str, key: str, payload: Mapping[str, Any], partition: str | None, *, trace: str | None) -> Message:
    """The message that rings for a run of the ledger: `ledger_payload` the other way round."""
    at = payload.get(ELSEWHERE)
    if len(payload) == 1 and isinstance(at, str):
        return Message(job, key, None, partition, at, trace=trace)
    return Message(job, key, payload, partition, trace=trace)


def read_message(text: str) -> Message:
    """The message of a body. Raises MalformedMessage for anything that `to_json` would not write.

    Names that it does not know are passed over: a later version may have them.
    """
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage(f"{text[:60]!r} is no JSON ({error}): allowed is the text of a message") from error
    if not isinstance(facts, dict) or facts.get("type") != TYPE:
        found = facts.get("type") if isinstance(facts, dict) else facts
        raise MalformedMessage(f"type is {str(found)[:60]!r}: allowed is {TYPE!r}")
    message = Message(
        facts.get("job"),  # type: ignore[arg-type]  # what it is, _complaint says
        facts.get("key"),  # type: ignore[arg-type]
        facts.get("payload"),
        facts.get("partition"),
        facts.get("payload_at"),
        _instant(facts.get("sent")),
        facts.get("trace"),
    )
    if wrong := _complaint(message):
        raise MalformedMessage(wrong)
    return message


def group_of(message: Message) -> str:
    """The message group in a FIFO queue: the partition, or its hash where SQS takes no such name."""
    partition = message.partition or ""
    return partition if GROUP.fullmatch(partition) else sha256(partition.encode()).hexdigest()


def sending_id(key: str, sending: str = "") -> str:
    """What a FIFO queue knows a sending by, for five minutes: another of the same `sending` is dropped.

    sending: "" for a service that publishes; for what the ledger sends, the id of that row, so that a run may be rung
    for a second time.
    """
    return sha256(f"{key}\0{sending}".encode()).hexdigest()


def _complaint(message: Message) -> str | None:
    """The first thing wrong with it as `name is value: what is allowed`; None when nothing is."""
    if not isinstance(message.job, str) or not NAME.fullmatch(message.job) or len(message.job) > LONGEST_NAME:
        return f"job is {str(message.job)[:60]!r}: allowed is a job's name"
    if wrong := unfit_text("key", message.key, LONGEST_KEY):
        return wrong
    if message.partition is not None and (wrong := unfit_text("partition", message.partition, LONGEST_KEY)):
        return wrong
    if message.trace is not None and (wrong := unfit_text("trace", message.trace, LONGEST_TRACE)):
        return wrong
    if message.sent_at.tzinfo is None:
        return f"sent is {message.sent_at.isoformat()}: allowed is a time with zone"
    if message.payload is None:
        return _unfit_place(message.payload_at)
    if message.payload_at is not None:
        return f"payload_at is {str(message.payload_at)[:60]!r} beside a payload: allowed is one of the two"
    return unfit_payload(message.payload)


def _unfit_place(place: object) -> str | None:
    if not isinstance(place, str) or not place.startswith("s3://"):
        return f"payload is null and payload_at {str(place)[:60]!r}: allowed is s3://bucket/key"
    return unfit_text("payload_at", place, LONGEST_TRACE)


def _instant(text: object) -> datetime:
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
        if at is not None and at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        at = None
    raise MalformedMessage(
        f"sent is {str(text)[:60]!r}: allowed is an ISO 8601 time with zone, such as 2026-11-29T02:00:00Z"
    )
