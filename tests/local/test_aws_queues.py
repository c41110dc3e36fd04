"""What the product relies on of a queue, as SQS has it: the local one must do the same."""

import json
import threading
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from botocore.exceptions import ClientError

from ops.local.aws.internals import sqs as stored
from ops.local.aws.queue_metrics import QueueMetrics
from tests.local.aws.cloud import Cloud

pytest_plugins = ("tests.local.aws.fixtures",)

MIB = 1_048_576
_numbers = count(1)


class Sqs:
    """One queue and what is done with it."""

    def __init__(self, cloud: Cloud, *, fifo: bool = False, **attributes: str) -> None:
        self.client = cloud.aws.client("sqs")
        kind = {"FifoQueue": "true"} if fifo else {}
        self.name = f"contract-{next(_numbers)}{'.fifo' if fifo else ''}"
        self.url = self.client.create_queue(QueueName=self.name, Attributes={**kind, **attributes})["QueueUrl"]
        self.arn = f"arn:aws:sqs:{cloud.aws.region}:{cloud.aws.account}:{self.name}"

    def send(self, body: str = "{}", **options: Any) -> Any:
        return self.client.send_message(QueueUrl=self.url, MessageBody=body, **options)

    def receive(self, most: int = 10, **options: Any) -> list[dict[str, Any]]:
        answer = self.client.receive_message(
            QueueUrl=self.url,
            MaxNumberOfMessages=most,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
            **options,
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def bodies(self, **options: Any) -> list[str]:
        return [message["Body"] for message in self.receive(**options)]

    def delete(self, message: dict[str, Any]) -> None:
        self.client.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def hide(self, message: dict[str, Any], seconds: int) -> None:
        self.client.change_message_visibility(
            QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds
        )

    def counts(self) -> list[int]:
        """Visible, in flight, delayed."""
        found = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])["Attributes"]
        return [int(found[f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible", "Delayed")]


def test_a_queue_is_found_by_the_address_that_it_has_on_aws(cloud: Cloud) -> None:
    queue = Sqs(cloud)
    address = f"https://sqs.{cloud.aws.region}.amazonaws.com/{cloud.aws.account}/{queue.name}"
    queue.client.send_message(QueueUrl=address, MessageBody="here")
    assert queue.bodies() == ["here"]


def test_a_queue_that_is_not_there_has_the_code_of_sqs(cloud: Cloud) -> None:
    with pytest.raises(ClientError) as refused:
        cloud.aws.client("sqs").send_message(QueueUrl="https://sqs.x.amazonaws.com/0/none", MessageBody="x")
    assert refused.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"


def test_a_message_that_was_received_is_hidden_until_it_is_given_back(cloud: Cloud) -> None:
    queue = Sqs(cloud, VisibilityTimeout="300")
    queue.send()
    [message] = queue.receive()
    assert (queue.receive(), queue.counts()) == ([], [0, 1, 0])
    queue.hide(message, 0)
    [again] = queue.receive()
    assert [each["Attributes"]["ApproximateReceiveCount"] for each in (message, again)] == ["1", "2"]
    queue.delete(again)
    assert queue.counts() == [0, 0, 0]


def test_a_message_with_a_delay_is_counted_as_such_and_not_received(cloud: Cloud) -> None:
    queue = Sqs(cloud)
    queue.send(DelaySeconds=900)
    assert (queue.receive(), queue.counts()) == ([], [0, 0, 1])


def test_a_long_poll_ends_with_the_first_message(cloud: Cloud) -> None:
    queue, asking = Sqs(cloud), threading.Event()
    received: list[list[str]] = []

    def poll() -> None:
        asking.set()
        received.append(queue.bodies(WaitTimeSeconds=20))

    waiting = threading.Thread(target=poll)
    waiting.start()
    asking.wait()
    queue.send("at last")
    waiting.join(10)
    assert received == [["at last"]]


def test_what_is_larger_than_a_mebibyte_is_refused_and_so_is_such_a_batch(cloud: Cloud) -> None:
    queue = Sqs(cloud)
    queue.send("x" * MIB)
    with pytest.raises(ClientError, match="must be shorter than 1048576 bytes"):
        queue.send("x" * (MIB + 1))
    halves = [{"Id": str(number), "MessageBody": "x" * (MIB // 2 + 1)} for number in range(2)]
    with pytest.raises(ClientError) as refused:
        queue.client.send_message_batch(QueueUrl=queue.url, Entries=halves)
    assert refused.value.response["Error"]["Code"] == "AWS.SimpleQueueService.BatchRequestTooLong"


def test_a_batch_is_answered_entry_by_entry(cloud: Cloud) -> None:
    queue = Sqs(cloud, fifo=True)
    good = {"Id": "good", "MessageBody": "1", "MessageGroupId": "one", "MessageDeduplicationId": "1"}
    answer = queue.client.send_message_batch(QueueUrl=queue.url, Entries=[good, {**good, "Id": "2nd"}])
    assert {entry["Id"] for entry in answer["Successful"]} == {"good", "2nd"}
    lacking = {"Id": "lacking", "MessageBody": "1", "MessageDeduplicationId": "2"}
    [failure] = queue.client.send_message_batch(QueueUrl=queue.url, Entries=[lacking])["Failed"]
    assert (failure["Id"], failure["SenderFault"], failure["Code"]) == ("lacking", True, "MissingParameter")


def test_a_duplicate_is_dropped_by_its_id_even_when_the_first_one_is_gone(cloud: Cloud) -> None:
    queue = Sqs(cloud, fifo=True)
    queue.send("first", MessageGroupId="one", MessageDeduplicationId="same")
    [message] = queue.receive()
    queue.delete(message)
    queue.send("second", MessageGroupId="one", MessageDeduplicationId="same")
    queue.send("third", MessageGroupId="one", MessageDeduplicationId="other")
    assert queue.bodies() == ["third"]


def test_a_group_waits_for_its_first_message_and_other_groups_do_not(cloud: Cloud) -> None:
    queue = Sqs(cloud, fifo=True)
    for number, group in enumerate(("one", "one", "two")):
        queue.send(str(number), MessageGroupId=group, MessageDeduplicationId=str(number))
    [first] = queue.receive(most=1)
    assert first["Body"] == "0"
    assert queue.bodies() == ["2"]
    queue.delete(first)
    assert queue.bodies() == ["1"]


def test_a_message_received_too_often_is_a_dead_letter_with_all_that_it_carried(cloud: Cloud) -> None:
    letters = Sqs(cloud)
    policy = json.dumps({"deadLetterTargetArn": letters.arn, "maxReceiveCount": 1})
    queue = Sqs(cloud, RedrivePolicy=policy)
    queue.send("again", MessageAttributes={"Reason": {"DataType": "String", "StringValue": "why"}})
    [message] = queue.receive()
    queue.hide(message, 0)
    assert queue.receive() == []
    [letter] = letters.receive()
    assert letter["Body"] == "again"
    assert letter["MessageAttributes"]["Reason"]["StringValue"] == "why"
    assert letter["Attributes"]["SentTimestamp"] == message["Attributes"]["SentTimestamp"]


def test_a_receipt_of_a_message_that_is_gone_is_refused(cloud: Cloud) -> None:
    queue = Sqs(cloud)
    queue.send()
    [message] = queue.receive()
    queue.delete(message)
    with pytest.raises(ClientError) as refused:
        queue.hide(message, 10)
    assert refused.value.response["Error"]["Code"] == "ReceiptHandleIsInvalid"


def test_a_purged_queue_is_empty_with_what_was_in_flight(cloud: Cloud) -> None:
    queue = Sqs(cloud)
    queue.send("1")
    queue.send("2")
    queue.receive(most=1)
    queue.client.purge_queue(QueueUrl=queue.url)
    assert queue.counts() == [0, 0, 0]


def test_the_age_of_the_oldest_message_is_a_metric_until_the_queue_is_empty(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = {"name": "aged", "messages": [{"sent_at": 110.0}, {"sent_at": 100.0}]}
    monkeypatch.setitem(stored._queues._data, ("account", "region", "aged"), queue)
    metrics = QueueMetrics(cloud.aws.endpoint, cloud.aws.region)
    metrics.tell(160.0)
    queue["messages"] = []
    for _ in range(2):
        metrics.tell(170.0)
    now = datetime.now(UTC)
    points = cloud.aws.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/SQS",
        MetricName="ApproximateAgeOfOldestMessage",
        Dimensions=[{"Name": "QueueName", "Value": "aged"}],
        StartTime=now - timedelta(minutes=5),
        EndTime=now + timedelta(minutes=1),
        Period=300,
        Statistics=["Maximum", "SampleCount"],
    )["Datapoints"]
    assert max(point["Maximum"] for point in points) == 60.0
    assert sum(point["SampleCount"] for point in points) == 2
