"""The Lambda function of a job with a queue: a batch of its messages, each of them a run of its own.

Any other event is for `lambda_entry`: the function is the job's only one.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, SqsFifoPartialProcessor
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from handlers.queues.clients import one_try
from handlers.runtime import lambda_entry
from handlers.runtime.consume import Consumer, open_consumer
from handlers.runtime.inbox import Received, of_record
from handlers.runtime.lambda_entry import RESERVE, LambdaContext

SQS = "aws:sqs"
# Seconds. A network may have no way to SQS at all: then the messages come back by themselves, only later.
CALL_TIMEOUT = 2.0


class GivenBack(Exception):
    """Raised so that Lambda leaves the message in the queue. wait: for how long it is hidden there."""

    def __init__(self, wait: timedelta) -> None:
        self.wait = wait
        super().__init__(f"shown again in {wait.total_seconds():.0f} s")


class Batch:
    """One call's messages. ends_at: when the call must be done, on the monotonic clock."""

    def __init__(self, consumer: Consumer, ends_at: float) -> None:
        self._consumer = consumer
        self._ends_at = ends_at
        self._ledger_out = False
        self._has_run = False
        self._seen: set[str] = set()
        self._blocked: dict[str | None, float] = {}  # FIFO groups that wait, until when on the monotonic clock

    def work(self, record: SQSRecord) -> None:
        """Work on a message. Raises GivenBack for one that must stay in the queue."""
        received = of_record(record.raw_event)
        self._seen.add(received.id)
        with self._consumer.speaking_of(received):
            if self._ledger_out:  # a start would wait for it in vain, and cost the others their time
                judged = self._consumer.ledger_out(received, "the ledger did not answer a moment ago")
            else:
                judged = self._consumer.judge(received, has_time=self._has_time())
            self._ledger_out |= judged.ledger_out
            self._has_run |= judged.report is not None
            wait = self._consumer.settle(received, judged)
        if wait is not None:
            self._blocked[received.group] = time.monotonic() + wait.total_seconds()
            raise GivenBack(wait)

    def give_back_the_blocked(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Show all messages of a group that waits again at once: each of them that is hidden blocks the group."""
        for received in map(of_record, records):
            until = self._blocked.get(received.group)
            if received.id not in self._seen and until is not None:
                self._hide(received, timedelta(seconds=max(0.0, until - time.monotonic())))

    def _hide(self, received: Received, wait: timedelta) -> None:
        with self._consumer.speaking_of(received):
            self._consumer.inbox.hide(received, wait)

    def _has_time(self) -> bool:
        """The first is worked on whatever the time: else none would ever be."""
        left = self._ends_at - time.monotonic()
        return not self._has_run or left >= self._consumer.job.longest_run.total_seconds()


def handler(event: Mapping[str, Any], context: LambdaContext) -> Any:
    """Work on a batch; which messages of it must stay in the queue.

    Raises what is wrong with the function itself, its settings for one, and nothing of a message's or the ledger's.
    """
    records = event.get("Records")
    if not records or records[0].get("eventSource") != SQS:
        return lambda_entry.handler(event, context)
    ends_at = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - RESERVE
    job, runner = lambda_entry.job_and_runner(context, ends_at, waits=False)
    consumer = open_consumer(job, runner, _sqs, gives_up=True)
    batch = Batch(consumer, ends_at)
    processor = _processor(fifo=consumer.queue.fifo)
    with processor(records, batch.work):
        processor.process()
    batch.give_back_the_blocked(records)
    return processor.response()


def _processor(*, fifo: bool) -> BatchProcessor:
    processor = SqsFifoPartialProcessor(skip_group_on_error=True) if fifo else BatchProcessor(EventType.SQS)
    # Lambda would show all of the batch again, those that are done included.
    processor.raise_on_entire_batch_failure = False
    return processor


@cache
def _sqs() -> Any:
    return one_try("sqs", connect=CALL_TIMEOUT, read=CALL_TIMEOUT)
