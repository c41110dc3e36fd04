"""Queues for tests: a job table whose jobs have them, and the queues themselves."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.stub import Stubber

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import every
from handlers.declaration.duration import minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.declaration.queue import Queue
from handlers.queues.publish import Publisher
from handlers.queues.sending import Pace

REGION = "eu-central-1"
BASE = f"https://sqs.{REGION}.amazonaws.com/123456789012/shiftlock-test-"
FILES = "shiftlock-test-files"
TARGET = "tests.runtime.sample_jobs:succeed"
TABLE = declare(
    Job("resize", target=TARGET, queue=Queue(), longest_run=minutes(1)),
    Job("pull", target=TARGET, queue=Queue(fifo=True), longest_run=minutes(1)),
    Job("later", target=TARGET, queue=Queue(delay=minutes(1)), longest_run=minutes(1)),
    Job("nightly", target=TARGET, schedule=every(hours=1), longest_run=minutes(1)),
)
RESIZE, PULL = TABLE.find("resize"), TABLE.find("pull")


@dataclass
class Post:
    """The queues of TABLE's jobs, and a publisher to them."""

    sqs: Any
    s3: Any
    publisher: Publisher

    def take(self, job: str) -> list[dict[str, Any]]:
        """The bodies of all messages that wait in the job's queue now; they are deleted."""
        url = f"{BASE}{job}{'.fifo' if job == 'pull' else ''}"
        found: list[dict[str, Any]] = []
        while messages := self.sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=0, AttributeNames=["All"]
        ).get("Messages"):
            for message in messages:
                found.append(json.loads(message["Body"]))
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def keys(self, job: str) -> list[str]:
        """The keys of those messages."""
        return [body["key"] for body in self.take(job)]


def make_post() -> Post:
    """Make the queues, and the bucket, within moto."""
    sqs, s3 = boto3.client("sqs", REGION), boto3.client("s3", REGION)
    for job in TABLE:
        if job.queue is not None:
            end = ".fifo" if job.queue.fifo else ""
            attributes = {"DelaySeconds": str(job.queue.delay.seconds)} | ({"FifoQueue": "true"} if end else {})
            sqs.create_queue(QueueName=f"shiftlock-test-{job.name}{end}", Attributes=attributes)  # type: ignore[arg-type]
    s3.create_bucket(Bucket=FILES, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    return Post(sqs, s3, Publisher(BASE, TABLE, sqs, s3, FILES))


@dataclass
class Answers:
    """A client of SQS whose calls are answered as said, in order. waits: what was slept through, in seconds."""

    sqs: Any
    stub: Stubber
    waits: list[float] = field(default_factory=list)

    def pace(self, attempts: int = 3, until: float | None = None) -> Pace:
        """A pace of so many tries that notes its waits and does not wait."""
        return Pace(Retry(attempts=attempts, base=seconds(1), cap=seconds(4)), until, self.waits.append)


@contextmanager
def answered() -> Iterator[Answers]:
    """The client; at the end every answer must have been asked for."""
    config = Config(region_name=REGION, retries={"total_max_attempts": 1})
    sqs = boto3.client("sqs", config=config, aws_access_key_id="x", aws_secret_access_key="x")  # noqa: S106
    with Stubber(sqs) as stub:
        yield Answers(sqs, stub)
        stub.assert_no_pending_responses()
