"""Event source mappings from a queue to a function, polled as Lambda polls them.

ministack takes a FIFO queue one batch at a time, looks for what has become visible again once a second, and deletes
while other threads append. Here all goes through the queue's own public API. Streams are not polled.
"""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from ops.local.aws.batches import delivered, left_over
from ops.local.aws.clients import client
from ops.local.aws.internals import lambda_svc, request_scope
from ops.local.aws.settings import ACCOUNT
from ops.local.aws.under_way import UnderWay

logger = logging.getLogger("shiftlock.local.mappings")

Json = Mapping[str, Any]

LARGEST_RECEIPT = 10  # Amazon SQS API Reference, ReceiveMessage, MaxNumberOfMessages
# A mapping that is deleted or disabled is noticed after so long.
SECONDS_OF_LONG_POLL = 2
# Lambda "backs off" when a function throws, and says not how long: Lambda Developer Guide, "Using Lambda with Amazon
# SQS", error handling.
SECONDS_AFTER_AN_ERROR = 1.0
# Batches at once where a mapping names no maximum.
DEFAULT_CONCURRENCY = 5


class Mappings:
    """The mappings of one local AWS, each with a thread of its own."""

    def __init__(self, endpoint: str, region: str, under_way: UnderWay) -> None:
        self._endpoint = endpoint
        self._region = region
        self._under_way = under_way
        self._polled: set[str] = set()
        self._starting = threading.Lock()

    @property
    def _sqs(self) -> Any:
        return client("sqs", self._endpoint, self._region)

    def install(self) -> None:
        """Takes the polling over from ministack."""
        lambda_svc._ensure_poller = self._look

    def _look(self) -> None:
        """Starts to poll for each mapping that nobody polls for; called when one was made."""
        with self._starting, request_scope(ACCOUNT, self._region):
            for name, mapping in list(lambda_svc._esms.items()):
                if name not in self._polled and ":sqs:" in mapping["EventSourceArn"]:
                    self._polled.add(name)
                    threading.Thread(
                        target=self._poll, args=(name, mapping), name=f"mapping-{name}", daemon=True
                    ).start()

    def _poll(self, name: str, mapping: Json) -> None:
        """Receives and hands on until the mapping is gone."""
        batches = UnderWay()
        with request_scope(ACCOUNT, self._region):
            while lambda_svc._esms.get(name) is mapping:
                if not mapping["Enabled"]:
                    time.sleep(SECONDS_OF_LONG_POLL)  # nobody tells of a change
                elif not batches.wait(SECONDS_OF_LONG_POLL, leaving=_most_at_once(mapping) - 1):
                    self._take(name, mapping, batches)

    def _take(self, name: str, mapping: Json, batches: UnderWay) -> None:
        try:
            queue, messages = self._receive(mapping)
            if lambda_svc._esms.get(name) is not mapping or not mapping["Enabled"]:
                self._give_back(queue, messages)
                return
        except (BotoCoreError, ClientError) as error:
            logger.warning("nothing is received for %s: %s", mapping["FunctionName"], error)
            time.sleep(SECONDS_OF_LONG_POLL)  # what a call that comes through would have taken
            return
        if messages:
            batches.begin()
            self._under_way.begin()
            threading.Thread(target=self._batch, args=(mapping, queue, messages, batches), daemon=True).start()

    def _receive(self, mapping: Json) -> tuple[str, Sequence[Json]]:
        queue = f"{self._endpoint}/{ACCOUNT}/{mapping['EventSourceArn'].rpartition(':')[2]}"
        answer = self._sqs.receive_message(
            QueueUrl=queue,
            MaxNumberOfMessages=min(int(mapping["BatchSize"]), LARGEST_RECEIPT),
            WaitTimeSeconds=SECONDS_OF_LONG_POLL,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return queue, answer.get("Messages", [])

    def _give_back(self, queue: str, messages: Sequence[Json]) -> None:
        """What came when the mapping had just been ended."""
        for message in messages:
            self._sqs.change_message_visibility(
                QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
            )

    def _batch(self, mapping: Json, queue: str, messages: Sequence[Json], batches: UnderWay) -> None:
        with batches.until_done():
            with self._under_way.until_done(), request_scope(ACCOUNT, self._region):
                try:
                    failed = self._work(mapping, queue, messages)
                except Exception:  # whatever it is, the queue goes on to be polled
                    # The last frame of a thread: what is not deleted comes back, as after a call that failed.
                    logger.exception("a batch for %s was not worked on", mapping["FunctionName"])
                    failed = True
            if failed:
                time.sleep(SECONDS_AFTER_AN_ERROR)  # Lambda, too, slows down for a function that fails

    def _work(self, mapping: Json, queue: str, messages: Sequence[Json]) -> bool:
        """Calls the function, and deletes what it has done; whether the call failed as a whole."""
        function, _ = lambda_svc._get_func_record_for_qualifier(mapping["FunctionName"], mapping.get("Qualifier"))
        result = lambda_svc._execute_function(function, delivered(messages, mapping["EventSourceArn"], self._region))
        left = left_over(result, messages, partial="ReportBatchItemFailures" in mapping["FunctionResponseTypes"])
        receipts = [message["ReceiptHandle"] for message in messages if message["MessageId"] not in left]
        if receipts:
            self._sqs.delete_message_batch(
                QueueUrl=queue,
                Entries=[{"Id": str(place), "ReceiptHandle": receipt} for place, receipt in enumerate(receipts)],
            )
        if result.get("error"):
            logger.warning("%s failed over a batch of %d: %s", mapping["FunctionName"], len(messages), result["body"])
        return bool(result.get("error"))


def _most_at_once(mapping: Json) -> int:
    return int((mapping.get("ScalingConfig") or {}).get("MaximumConcurrency") or DEFAULT_CONCURRENCY)
