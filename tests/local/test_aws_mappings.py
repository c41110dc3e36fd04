"""Messages on their way from a queue to a function: what stays, what goes, and how many calls there are at once."""

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ops.local.aws.batches import left_over
from ops.local.aws.errors import LocalAwsError
from tests.local.aws.cloud import Cloud
from tests.local.aws.feed import Feed, open_feed

pytest_plugins = ("tests.local.aws.fixtures",)

MESSAGES = [{"MessageId": "a"}, {"MessageId": "b"}]
HIDDEN_LONG = "300"


@pytest.fixture
def feed(cloud: Cloud) -> Iterator[Callable[..., Feed]]:
    """Makes queues that feed the function, and ends their mappings."""
    made: list[Feed] = []

    def make(**options: Any) -> Feed:
        made.append(open_feed(cloud, **options))
        return made[-1]

    yield make
    functions = cloud.aws.client("lambda")
    there = {mapping["UUID"] for mapping in functions.list_event_source_mappings()["EventSourceMappings"]}
    for each in made:
        if each.mapping in there:
            functions.delete_event_source_mapping(UUID=each.mapping)
    cloud.aws.settle()


@pytest.fixture
def meeting() -> Iterator[socket.socket]:
    """Where calls of the function wait until the test lets them go on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        yield server


@pytest.mark.parametrize(
    ("result", "left"),
    [
        ({"body": None}, ""),
        ({"body": {}}, ""),
        ({"body": {"batchItemFailures": []}}, ""),
        ({"body": {"batchItemFailures": None}}, ""),
        ({"body": {"batchItemFailures": [{"itemIdentifier": "b"}]}}, "b"),
        ({"body": {"batchItemFailures": [{"itemIdentifier": "b"}, {"itemIdentifier": "other"}]}}, "ab"),
        ({"body": {"batchItemFailures": [{"itemIdentifier": ""}]}}, "ab"),
        ({"body": {"batchItemFailures": [{"itemIdentifier": None}]}}, "ab"),
        ({"body": {"batchItemFailures": [{"messageId": "b"}]}}, "ab"),
        ({"body": {"batchItemFailures": 7}}, "ab"),
        ({"body": "no JSON object"}, "ab"),
        ({"body": {"batchItemFailures": []}, "error": True}, "ab"),
    ],
)
def test_an_answer_that_lambda_would_not_understand_leaves_the_whole_batch(result: dict[str, Any], left: str) -> None:
    assert left_over(result, MESSAGES, partial=True) == set(left)


def test_without_partial_answers_a_call_counts_as_a_whole() -> None:
    answer = {"batchItemFailures": [{"itemIdentifier": "a"}]}
    assert left_over({"body": answer}, MESSAGES, partial=False) == set()
    assert left_over({"body": answer, "error": True}, MESSAGES, partial=False) == {"a", "b"}


def test_a_message_reaches_the_function_as_lambda_hands_it_on_and_is_gone_then(
    cloud: Cloud, feed: Callable[..., Feed]
) -> None:
    queue = feed()
    attribute = {"DataType": "String", "StringValue": "why"}
    cloud.aws.client("sqs").send_message(
        QueueUrl=queue.url, MessageBody='{"number": 1}', MessageAttributes={"Reason": attribute}
    )
    [record] = queue.records()
    assert json.loads(record["body"]) == {"number": 1}
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["messageAttributes"] == {"Reason": {"dataType": "String", "stringValue": "why"}}
    assert record["eventSource"] == "aws:sqs"
    cloud.aws.settle()
    assert queue.counts() == [0, 0]


def test_of_a_batch_the_failed_items_stay_hidden_and_the_others_are_deleted(
    cloud: Cloud, feed: Callable[..., Feed]
) -> None:
    queue = feed(VisibilityTimeout=HIDDEN_LONG)
    queue.send({"do": "keep"}, {}, {})
    assert len(queue.bodies()) == 3
    cloud.aws.settle()
    assert queue.counts() == [0, 1]


def test_a_failed_item_comes_back_when_the_function_has_said_and_not_when_the_queue_would(
    feed: Callable[..., Feed],
) -> None:
    queue = feed(VisibilityTimeout=HIDDEN_LONG, batch=1)
    queue.send({"do": "hide", "queue": queue.url, "seconds": 0})
    assert [queue.records()[0]["attributes"]["ApproximateReceiveCount"] for _ in range(3)] == ["1", "2", "3"]


def test_a_call_that_fails_leaves_its_batch_which_ends_in_the_dead_letter_queue(
    cloud: Cloud, feed: Callable[..., Feed]
) -> None:
    queue = feed(receives=2, VisibilityTimeout="0", batch=1)
    queue.send({"do": "fail", "number": 1})
    assert [queue.bodies(), queue.bodies()] == [[{"do": "fail", "number": 1}]] * 2
    answer = cloud.aws.client("sqs").receive_message(
        QueueUrl=queue.dead_letters, WaitTimeSeconds=20, MessageSystemAttributeNames=["All"]
    )
    assert json.loads(answer["Messages"][0]["Body"])["number"] == 1
    assert answer["Messages"][0]["Attributes"]["DeadLetterQueueSourceArn"].endswith(queue.name)


def test_as_many_calls_as_the_mapping_allows_run_at_once_and_no_more(
    feed: Callable[..., Feed], meeting: socket.socket
) -> None:
    queue = feed(batch=1, at_once=3)
    queue.send(*({"do": "meet", "port": meeting.getsockname()[1], "number": number} for number in range(5)))
    there = [meeting.accept()[0] for _ in range(3)]
    assert queue.counts() == [2, 3]
    there += [let_go_and_accept(there[number], meeting) for number in range(2)]
    for call in there[2:]:
        call.close()
    assert sorted(body["number"] for _ in range(5) for body in queue.bodies()) == [0, 1, 2, 3, 4]


def test_a_group_that_is_worked_on_blocks_only_itself(feed: Callable[..., Feed], meeting: socket.socket) -> None:
    queue = feed(fifo=True, batch=1)
    hold = {"do": "meet", "port": meeting.getsockname()[1]}
    queue.send({**hold, "number": 1}, {"number": 2}, group="one")
    assert queue.bodies()[0]["number"] == 1
    queue.send({"number": 3}, group="two")
    assert queue.bodies()[0]["number"] == 3
    meeting.accept()[0].close()
    assert queue.bodies()[0]["number"] == 2


@pytest.mark.parametrize("how", ["off", "gone"])
def test_a_mapping_that_is_off_or_gone_leaves_the_messages_to_others(
    cloud: Cloud, feed: Callable[..., Feed], how: str
) -> None:
    queue = feed(VisibilityTimeout=HIDDEN_LONG)
    functions = cloud.aws.client("lambda")
    if how == "off":
        functions.update_event_source_mapping(UUID=queue.mapping, Enabled=False)
    else:
        functions.delete_event_source_mapping(UUID=queue.mapping)
    queue.send({"number": 1})
    answer = cloud.aws.client("sqs").receive_message(QueueUrl=queue.url, WaitTimeSeconds=20)
    assert json.loads(answer["Messages"][0]["Body"]) == {"number": 1}


def test_settling_waits_for_the_batches(cloud: Cloud, feed: Callable[..., Feed], meeting: socket.socket) -> None:
    queue = feed()
    queue.send({"do": "meet", "port": meeting.getsockname()[1]})
    call = meeting.accept()[0]
    with pytest.raises(LocalAwsError, match="1 calls, deliveries or tasks are still under way"):
        cloud.aws.settle(0)
    call.close()
    cloud.aws.settle()
    assert queue.counts() == [0, 0]


def let_go_and_accept(call: socket.socket, meeting: socket.socket) -> socket.socket:
    """Lets one call end; the one that begins then."""
    call.close()
    return meeting.accept()[0]
