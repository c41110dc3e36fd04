"""Queues of jobs of the schedule on a made-up AWS, and the ledger that `jobs queue --env dev` finds beside them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handlers.queues.message import Message
from tests.ops.command import Done, Jobs

REGION = "us-east-1"
JOB, OTHER = "image-resize", "inventory-pull"


@dataclass(frozen=True, slots=True)
class Queues:
    """The queues of dev, and the command that looks at them."""

    sqs: Any
    jobs: Jobs

    def __call__(self, *arguments: str) -> Done:
        """`jobs queue ... --env dev`."""
        return self.jobs("queue", *arguments, "--env", "dev")

    def url(self, *, dead: bool = False, job: str = JOB, fifo: bool = False) -> str:
        name = f"shiftlock-dev-{job}{'_dead-letters' if dead else ''}{'.fifo' if fifo else ''}"
        url: str = self.sqs.get_queue_url(QueueName=name)["QueueUrl"]
        return url

    def send(self, body: str, *, dead: bool = False, **options: Any) -> None:
        self.sqs.send_message(QueueUrl=self.url(dead=dead), MessageBody=body, **options)

    def bury(self, key: str, *, reason: str = "ValueError: no such image", run: int = 7) -> None:
        """A dead letter as a consumer leaves it."""
        facts = {"Reason": reason, "Job": JOB, "Run": str(run)}
        attributes = {name: {"DataType": "String", "StringValue": text} for name, text in facts.items()}
        self.send(message(key), dead=True, MessageAttributes=attributes)

    def bodies(self, *, dead: bool = False, fifo: bool = False) -> list[str]:
        """What is visible, which stays so."""
        url = self.url(dead=dead, fifo=fifo)
        answer = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return [each["Body"] for each in answer.get("Messages", [])]

    def keys(self, *, dead: bool = False) -> list[str]:
        """The keys of the messages that are visible."""
        return [json.loads(body)["key"] for body in self.bodies(dead=dead)]


def message(key: str, payload: Mapping[str, Any] | None = None, partition: str | None = None) -> str:
    return Message(JOB, key, payload or {"source": f"uploads/{key}.jpg"}, partition).to_json()
