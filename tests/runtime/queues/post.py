"""A queue with its dead letters, a job that works on its messages, and Lambda's part in between."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import boto3
import psycopg
from aws_lambda_powertools.logging import Logger
from moto import mock_aws

from handlers.declaration.catalogue import declare
from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.declaration.queue import Queue
from handlers.queues.address import FIFO
from handlers.queues.message import Message, group_of, sending_id
from handlers.runtime.consume import Consumer, open_consumer
from handlers.runtime.inbox import ATTRIBUTES, Received, of_record
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop

REGION = "eu-central-1"
SLOW = Retry(attempts=3, base=timedelta(minutes=2), cap=timedelta(minutes=2))
STATES = "select run_key, status, attempt from shiftlock.job_runs order by run_key"
NOWHERE = "postgresql://nobody@127.0.0.1:1/nowhere"  # a database that does not answer
EFFECTS = "select name, attempt from effect order by name"


def queued(function: str = "note", *, fifo: bool = False, **facts: Any) -> Job:
    """A job called sample that has messages alone."""
    given: dict[str, Any] = {"longest_run": timedelta(minutes=1), "retry": SLOW, **facts}
    return Job("sample", target=f"tests.runtime.queues.jobs:{function}", queue=Queue(fifo=fifo), **given)


@dataclass(frozen=True, slots=True)
class Post:
    """The queue of the sample job. base: as SHIFTLOCK_QUEUES has it."""

    sqs: Any
    base: str
    url: str
    dead_letters: str

    @property
    def fifo(self) -> bool:
        """Whether it keeps an order."""
        return self.url.endswith(FIFO)

    def send(self, key: str, partition: str | None = None, *, job: str = "sample", **payload: Any) -> None:
        """Send a message as `publish` does."""
        message = Message(job, key, payload, partition)
        ordered = {"MessageGroupId": group_of(message), "MessageDeduplicationId": sending_id(key)}
        self.sqs.send_message(QueueUrl=self.url, MessageBody=message.to_json(), **(ordered if self.fifo else {}))

    def send_text(self, text: str, group: str = "r1") -> None:
        """Send any text."""
        ordered = {"MessageGroupId": group, "MessageDeduplicationId": sending_id(text)}
        self.sqs.send_message(QueueUrl=self.url, MessageBody=text, **(ordered if self.fifo else {}))

    def take(self) -> list[dict[str, Any]]:
        """The records of a batch, as Lambda takes them."""
        answer = self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10, AttributeNames=list(ATTRIBUTES))
        return [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
                "messageAttributes": {},
                "eventSource": "aws:sqs",
            }
            for message in answer.get("Messages", [])
        ]

    def end(self, records: list[dict[str, Any]], answer: Mapping[str, Any]) -> set[str]:
        """Delete, as Lambda does, what the function has not given back; the keys of what it has."""
        back = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        for record in records:
            if record["messageId"] not in back:
                self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=record["receiptHandle"])
        return {json.loads(record["body"])["key"] for record in records if record["messageId"] in back}

    def dead(self) -> list[tuple[str, dict[str, str]]]:
        """Body and attributes of each dead letter."""
        answer = self.sqs.receive_message(
            QueueUrl=self.dead_letters, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        )
        return [
            (message["Body"], {name: one["StringValue"] for name, one in message["MessageAttributes"].items()})
            for message in answer.get("Messages", [])
        ]

    def counts(self) -> tuple[int, int]:
        """How many messages could be taken, and how many are hidden."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return int(found[names[0]]), int(found[names[1]])

    def counts_come_to(self, visible: int, hidden: int) -> bool:
        """Whether the counts are these within ten seconds: what has changed, SQS tells a moment later."""
        end = time.monotonic() + 10
        while self.counts() != (visible, hidden):
            if time.monotonic() > end:
                return False
        return True


def open_post(sqs: Any, *, fifo: bool = False, visibility: int = 180) -> Post:
    """Make both queues. visibility: seconds."""
    end = FIFO if fifo else ""
    ordered = {"FifoQueue": "true"} if fifo else {}
    url, dead_letters = (
        sqs.create_queue(QueueName=f"test-{name}{end}", Attributes={"VisibilityTimeout": str(visibility), **ordered})[
            "QueueUrl"
        ]
        for name in ("sample", "sample_dead-letters")
    )
    return Post(sqs, url.removesuffix(f"sample{end}"), url, dead_letters)


def consumer_of(post: Post, url: str, job: Job, log: Logger) -> Consumer:
    """A consumer in this process. url: of the ledger's database."""
    settings = Settings("test", DatabaseUrl(url), queues=post.base)
    runner = Runner(settings, (), log, Stop(), "test", waits=False, catalogue=declare(job))
    return open_consumer(job, runner, lambda: post.sqs)


@contextmanager
def mocked_post(*, fifo: bool = False) -> Iterator[Post]:
    """The same in this process, which then speaks to no AWS."""
    with mock_aws():  # which also gives credentials
        yield open_post(boto3.client("sqs", REGION), fifo=fifo)


def effects_in(database: psycopg.Connection) -> psycopg.Connection:
    """The same connection, to a database in which the jobs may have their effects."""
    database.execute("create table effect (name text not null, attempt integer not null)")
    return database


def taken(post: Post, times: int = 1) -> Received:
    """The next message, as if it had been taken so often."""
    return replace(of_record(post.take()[0]), receives=times)
