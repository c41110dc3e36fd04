"""Services publish: what is sent is in the queue as a message, and what cannot be sent is said before anything is."""

import json
from datetime import timedelta
from typing import Any

import pytest
from moto import mock_aws

from handlers.declaration.catalogue import UnknownJob, declare
from handlers.queues import publish as module
from handlers.queues.address import NoQueue, dead_letters_url, queue_url, region_of
from handlers.queues.errors import DelayNotAllowed, NotSent, PartitionNeeded
from handlers.queues.fitting import MalformedMessage
from handlers.queues.message import read_message
from handlers.queues.payloads import PayloadTooLarge, fetch
from handlers.queues.publish import Outgoing, Publisher, publish
from handlers.queues.sending import LARGEST_BATCH
from tests.queues.post import BASE, FILES, PULL, REGION, RESIZE, TABLE, Post, make_post


def test_a_message_is_in_the_queue_as_it_was_given(post: Post) -> None:
    post.publisher.publish("resize", {"source": "uploads/كعكة.jpg"}, key="a", partition="north")
    (body,) = post.take("resize")
    message = read_message(json.dumps(body))
    assert (message.job, message.key, message.partition) == ("resize", "a", "north")
    assert message.payload == {"source": "uploads/كعكة.jpg"}


def test_many_messages_are_sent_once_each(post: Post) -> None:
    outgoing = [Outgoing(f"k{number}", {"n": number}) for number in range(35)]
    assert post.publisher.publish_all("resize", iter(outgoing)) == 35
    assert sorted(post.keys("resize")) == sorted(each.key for each in outgoing)


def test_no_message_at_all_is_no_call() -> None:
    assert Publisher(BASE, TABLE, sqs=object()).publish_all("resize", []) == 0


def test_a_batch_has_no_more_than_sqs_takes_at_once(post: Post) -> None:
    large = "x" * (LARGEST_BATCH // 3)
    assert post.publisher.publish_all("resize", [Outgoing(f"k{n}", {"x": large}) for n in range(7)]) == 7
    assert len(post.take("resize")) == 7


def test_a_fifo_queue_has_the_messages_of_a_partition_in_their_order(post: Post) -> None:
    outgoing = [Outgoing(f"{partition}{n}", {}, partition) for n in range(6) for partition in ("a", "b", "الرياض")]
    assert post.publisher.publish_all("pull", outgoing) == 18
    keys = post.keys("pull")
    for partition in ("a", "b", "الرياض"):
        assert [key for key in keys if key.startswith(partition)] == [f"{partition}{n}" for n in range(6)]


def test_a_fifo_queue_takes_one_sending_of_a_key_once(post: Post) -> None:
    for _ in range(2):
        post.publisher.publish("pull", {}, key="a", partition="north")
    assert post.keys("pull") == ["a"]


def test_a_message_that_is_held_back_cannot_be_taken_yet(post: Post) -> None:
    post.publisher.publish("resize", {}, key="a", delay=timedelta(milliseconds=899_001))
    assert post.take("resize") == []


def test_without_a_delay_of_its_own_a_message_has_that_of_the_queue(post: Post) -> None:
    post.publisher.publish("later", {}, key="a")
    assert post.take("later") == []
    attributes = post.sqs.get_queue_attributes(QueueUrl=f"{BASE}later", AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessagesDelayed"] == "1"


@pytest.mark.parametrize(
    ("job", "outgoing", "error", "said"),
    [
        ("resiz", Outgoing("k", {}), UnknownJob, "did you mean resize"),
        ("nightly", Outgoing("k", {}), NoQueue, "nightly has no queue: give it queue=Queue"),
        ("pull", Outgoing("k", {}), PartitionNeeded, "pull has a FIFO queue and message k no partition"),
        ("pull", Outgoing("k", {}, "north", timedelta(seconds=1)), DelayNotAllowed, "none in a FIFO queue"),
        ("resize", Outgoing("k", {}, None, timedelta(seconds=901)), DelayNotAllowed, "0 to 15 minutes"),
        ("resize", Outgoing("k", {}, None, -timedelta(seconds=1)), DelayNotAllowed, "0 to 15 minutes"),
        ("resize", Outgoing("k", {}, None, 5), DelayNotAllowed, r"has the delay 5: allowed is a span such as minutes"),  # type: ignore[arg-type]
        ("pull", Outgoing("k", {}, "north", "5"), DelayNotAllowed, "has the delay '5': allowed is a span"),  # type: ignore[arg-type]
        ("resize", Outgoing("k", {"a": "\0"}), MalformedMessage, "with the character NUL"),
        ("resize", Outgoing("k", {"a": "\udc00"}), MalformedMessage, "with a lone surrogate"),
        ("resize", Outgoing("", {}), MalformedMessage, "key is ''"),
    ],
)
def test_what_cannot_be_sent_is_said_before_anything_is_sent(
    post: Post, job: str, outgoing: Outgoing, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said) as refused:
        post.publisher.publish_all(job, [Outgoing("first", {}, "north"), outgoing])
    assert "\n" not in str(refused.value)
    assert post.take("resize") == post.take("pull") == []


def test_a_message_may_be_as_large_as_sqs_takes_and_not_a_byte_larger(post: Post) -> None:
    without_files = Publisher(BASE, TABLE, post.sqs)
    without_files.publish("resize", {"x": ""}, key="k")
    (smallest,) = post.take("resize")
    room = LARGEST_BATCH - len(json.dumps(smallest, separators=(",", ":")))
    without_files.publish("resize", {"x": "x" * room}, key="k")
    assert len(post.take("resize")) == 1
    with pytest.raises(PayloadTooLarge, match="1,048,577 bytes: SQS takes 1,048,576; set SHIFTLOCK_FILES"):
        without_files.publish("resize", {"x": "x" * (room + 1)}, key="k")


def test_bytes_count_and_not_characters(post: Post) -> None:
    with pytest.raises(PayloadTooLarge):
        Publisher(BASE, TABLE, post.sqs).publish("resize", {"x": "ق" * 600_000}, key="k")


def test_a_payload_that_fits_no_message_is_in_the_bucket_and_its_address_in_the_message(post: Post) -> None:
    large = {"x": "x" * LARGEST_BATCH, "a": [1]}
    post.publisher.publish_all("resize", [Outgoing("k", large), Outgoing("l", {"small": 1})])
    messages = {message.key: message for message in (read_message(json.dumps(body)) for body in post.take("resize"))}
    assert messages["l"].payload == {"small": 1}
    assert messages["k"].payload is None
    assert fetch(messages["k"].payload_at or "", job="resize", bucket=FILES, s3=post.s3) == large


def test_a_payload_beyond_all_bounds_is_refused_and_nothing_is_kept(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST", 2 * LARGEST_BATCH)
    outgoing = [Outgoing("k", {"x": "x" * LARGEST_BATCH}), Outgoing("l", {"x": "x" * 3 * LARGEST_BATCH})]
    with pytest.raises(PayloadTooLarge, match="send where it is instead"):
        post.publisher.publish_all("resize", outgoing)
    assert "Contents" not in post.s3.list_objects_v2(Bucket=FILES)
    assert post.take("resize") == []


def test_a_queue_that_is_not_deployed_is_named(post: Post) -> None:
    elsewhere = Publisher(BASE.replace("-test-", "-prod-"), TABLE, post.sqs)
    with pytest.raises(NoQueue, match=r"shiftlock-prod-resize: .*NonExistentQueue.*; deploy the environment"):
        elsewhere.publish("resize", {}, key="k")


@pytest.mark.parametrize("queues", [None, ""])
def test_a_process_that_knows_no_queues_says_which_variable_it_lacks(queues: str | None) -> None:
    with pytest.raises(NoQueue, match="set SHIFTLOCK_QUEUES"):
        Publisher(queues, TABLE).publish("resize", {}, key="k")


def test_what_was_not_sent_is_named_with_its_reason(answers: Any) -> None:
    failed = {"Id": "1", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "a character"}
    answer = {"Successful": [{"Id": "0", "MessageId": "m", "MD5OfMessageBody": "x"}], "Failed": [failed]}
    answers.stub.add_response("send_message_batch", answer)
    with pytest.raises(NotSent) as refused:
        Publisher(BASE, TABLE, answers.sqs).publish_all("resize", [Outgoing("k", {}), Outgoing("l", {})])
    assert str(refused.value) == (
        "1 of 2 messages to resize were not sent, such as l: InvalidMessageContents: a character"
    )
    assert list(refused.value.refused) == ["l"]


@pytest.mark.parametrize("variable", ["_X_AMZN_TRACE_ID", "TRACEPARENT"])
def test_the_senders_trace_goes_with_the_message_as_it_is(
    post: Post, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1")
    post.publisher.publish("resize", {}, key="k")
    (body,) = post.take("resize")
    assert body["trace"] == "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"


def test_a_trace_that_is_no_header_holds_no_message_up(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "a\nb")
    post.publisher.publish("resize", {}, key="k")
    (body,) = post.take("resize")
    assert body["trace"] is None


def test_a_service_publishes_with_what_its_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        monkeypatch.setenv("SHIFTLOCK_QUEUES", BASE)
        monkeypatch.setenv("SHIFTLOCK_FILES", FILES)
        monkeypatch.setattr("handlers.schedule.SCHEDULE", declare(RESIZE, PULL))
        module._publisher.cache_clear()
        post = make_post()
        publish("resize", {"n": 1}, key="a")
        assert module.publish_all("resize", [Outgoing("b", {}), Outgoing("c", {"x": "x" * LARGEST_BATCH})]) == 2
        assert sorted(post.keys("resize")) == ["a", "b", "c"]
    module._publisher.cache_clear()


def test_a_queue_and_its_dead_letters_are_named_after_the_job() -> None:
    assert queue_url(BASE, RESIZE) == f"{BASE}resize"
    assert queue_url(BASE, PULL) == f"{BASE}pull.fifo"
    assert dead_letters_url(BASE, RESIZE) == f"{BASE}resize_dead-letters"
    assert dead_letters_url(BASE, PULL) == f"{BASE}pull_dead-letters.fifo"
    with pytest.raises(NoQueue, match="nightly has no queue"):
        queue_url(BASE, TABLE.find("nightly"))


def test_the_region_of_the_queues_is_that_of_their_address_and_needs_no_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    queues = "https://sqs.eu-central-1.amazonaws.com/111122223333/shiftlock-dev-"
    assert Publisher(queues, TABLE).sqs.meta.region_name == "eu-central-1"
    assert region_of("http://localhost:4566/000000000000/shiftlock-dev-") is None
