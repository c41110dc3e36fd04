"""Publish messages to jobs, for services: what is sent is a run of the job, once for each key.

from handlers.queues.publish import publish
publish("image-resize", {"source": "uploads/cake.jpg"}, key="uploads/cake.jpg@3f2a")
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, cached_property
from typing import Any

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.duration import seconds
from handlers.declaration.job import Job
from handlers.declaration.queue import LONGEST_DELAY
from handlers.queues.address import NoQueue, queue_url, region_of
from handlers.queues.clients import one_try
from handlers.queues.errors import DelayNotAllowed, NotSent, PartitionNeeded
from handlers.queues.message import Message, group_of, sending_id
from handlers.queues.payloads import LARGEST, PayloadTooLarge, keep, too_large
from handlers.queues.sending import LARGEST_BATCH, Delivered, Letter, Pace, deliver
from handlers.queues.trace import trace_here

PATIENCE = Pace()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One of many messages. key: of the run; a second message of a key is the same run. delay: up to 15 minutes."""

    key: str
    payload: Mapping[str, Any]
    partition: str | None = None
    delay: timedelta = timedelta()


class Publisher:
    """The way to the queues of an environment; its threads may share it.

    queues: `SHIFTLOCK_QUEUES`, the URL of a queue up to the job's name; None where there are none. files:
    `SHIFTLOCK_FILES`, the bucket for payloads that fit no message; None when there is none for that. sqs, s3: clients
    of boto3 that make one try, opened at first use when not given.
    """

    def __init__(
        self, queues: str | None, catalogue: Catalogue, sqs: Any = None, s3: Any = None, files: str | None = None
    ) -> None:
        self._queues, self._catalogue, self._files = queues, catalogue, files
        self._given_sqs, self._s3 = sqs, s3

    def publish(
        self,
        job: str,
        payload: Mapping[str, Any],
        *,
        key: str,
        partition: str | None = None,
        delay: timedelta = timedelta(),
    ) -> None:
        """Send one message. Raises as `publish_all`."""
        self.publish_all(job, [Outgoing(key, payload, partition, delay)])

    def publish_all(self, job: str, messages: Iterable[Outgoing], pace: Pace = PATIENCE) -> int:
        """Send the messages; how many. None is sent unless all are well-formed and not too large.

        Raises UnknownJob, NoQueue, MalformedMessage, PartitionNeeded, DelayNotAllowed, PayloadTooLarge, NotSent, and
        what S3 says when it does not take a large payload.
        """
        receiver = self._catalogue.find(job)
        outgoing = list(messages)
        for each in outgoing:
            _check(receiver, each)
        trace = trace_here()
        written = [Message(job, each.key, each.payload, each.partition, trace=trace) for each in outgoing]
        bodies = [message.to_json() for message in written]
        for message, body in zip(written, bodies, strict=True):
            self._check_size(message, body)
        letters = [
            letter(receiver, message, self._lightened(message, body), number=number, delay=each.delay)
            for number, (each, message, body) in enumerate(zip(outgoing, written, bodies, strict=True))
        ]
        delivered = self.post(receiver, letters, pace)
        gone = next((refusal for refusal in delivered.refused.values() if refusal.kind == "gone"), None)
        if gone and not delivered.sent:
            raise NoQueue(gone.reason)
        if len(delivered.sent) < len(outgoing):
            left = [number for number in range(len(outgoing)) if number not in delivered.sent]
            refused = {outgoing[number].key: delivered.refused.get(number) for number in left}
            raise NotSent(job, refused, sent=len(delivered.sent))
        return len(outgoing)

    def post(self, job: Job, letters: Sequence[Letter], pace: Pace = PATIENCE) -> Delivered:
        """Send letters to the job's queue; what SQS has taken of them, and what not. Raises NoQueue."""
        if not self._queues:
            raise NoQueue(f"{job.name}: this process knows no queues: set SHIFTLOCK_QUEUES")
        return deliver(self.sqs, queue_url(self._queues, job), letters, pace)

    @cached_property
    def sqs(self) -> Any:
        """The client for SQS. Its timeouts are short: SQS answers at once or not at all."""
        return self._given_sqs or one_try("sqs", connect=2, read=5, region=region_of(self._queues or ""))

    def _check_size(self, message: Message, body: str) -> None:
        size = len(body.encode())
        if size <= LARGEST_BATCH:
            return
        if not self._files:
            raise PayloadTooLarge(
                f"message {message.key} to {message.job} is of {size:,} bytes: SQS takes {LARGEST_BATCH:,}; set "
                "SHIFTLOCK_FILES and its payload goes to S3"
            )
        if size > LARGEST:
            raise too_large(message.job, size)

    def _lightened(self, message: Message, body: str) -> str:
        """The body, with the payload's address in its place where it is too large."""
        if not self._files or len(body.encode()) <= LARGEST_BATCH:
            return body
        place = keep(message.payload or {}, job=message.job, bucket=self._files, s3=self._s3)
        return replace(message, payload=None, payload_at=place).to_json()


def letter(
    job: Job, message: Message, body: str, *, number: int, sending: str = "", delay: timedelta = timedelta()
) -> Letter:
    """The message as it is posted. number: see `Letter`; sending: see `sending_id`."""
    held_back = -(-delay // seconds(1))  # whole seconds, rather more than less
    if job.queue is None or not job.queue.fifo:
        return Letter(number, body, delay=held_back)
    return Letter(number, body, group_of(message), sending_id(message.key, sending))


def publish(
    job: str,
    payload: Mapping[str, Any],
    *,
    key: str,
    partition: str | None = None,
    delay: timedelta = timedelta(),
) -> None:
    """Send one message to a job of this table. Reads `SHIFTLOCK_QUEUES`, `SHIFTLOCK_FILES`; raises as `Publisher`."""
    publisher_here().publish(job, payload, key=key, partition=partition, delay=delay)


def publish_all(job: str, messages: Iterable[Outgoing]) -> int:
    """Send many messages to a job of this table; how many. See `Publisher.publish_all`."""
    return publisher_here().publish_all(job, messages)


def publisher_here() -> Publisher:
    """The publisher of this process's environment, made once."""
    return _publisher(os.environ.get("SHIFTLOCK_QUEUES"), os.environ.get("SHIFTLOCK_FILES"))


@cache
def _publisher(queues: str | None, files: str | None) -> Publisher:
    from handlers.schedule import SCHEDULE

    return Publisher(queues, SCHEDULE, files=files)


def _check(job: Job, message: Outgoing) -> None:
    if job.queue is None:
        raise NoQueue(f"{job.name} has no queue: give it queue=Queue(...) in the job table")
    if not isinstance(message.delay, timedelta):
        raise DelayNotAllowed(job.name, message.key, f"{message.delay!r}", "a span such as minutes(5)")
    if not timedelta() <= message.delay <= LONGEST_DELAY:
        raise DelayNotAllowed(job.name, message.key, message.delay, "0 to 15 minutes")
    if job.queue.fifo and message.delay:
        raise DelayNotAllowed(job.name, message.key, message.delay, "none in a FIFO queue but its own, queue.delay")
    if job.queue.fifo and not message.partition:
        raise PartitionNeeded(job.name, message.key)
