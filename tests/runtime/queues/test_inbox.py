"""What is said to SQS about a message, and what each of its answers means."""

import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.logging import Logger
from botocore.stub import ANY, Stubber

from handlers.queues.clients import one_try
from handlers.runtime.inbox import Inbox, NoAnswer, Received, of_answer, visible_in

URL = "https://sqs.eu-central-1.amazonaws.com/123456789012/test-sample"
DEAD = URL + "_dead-letters"
MESSAGE = Received("0a1b", "a-receipt", '{"key": "photo-1"}', group="r7")
WAIT = timedelta(seconds=90.2)
HOURS_12 = 43_200


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with Stubber(boto3.client("sqs", "eu-central-1")) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def inbox(sqs: Stubber, log: Logger) -> Inbox:
    return Inbox(URL, DEAD, log, lambda: sqs.client)


def levels(written: StringIO) -> list[str]:
    return [json.loads(line)["level"] for line in written.getvalue().splitlines()]


def test_a_message_is_hidden_for_whole_seconds_and_not_less_than_asked(inbox: Inbox, sqs: Stubber) -> None:
    expected = {"QueueUrl": URL, "ReceiptHandle": "a-receipt", "VisibilityTimeout": 91}
    sqs.add_response("change_message_visibility", {}, expected)
    assert inbox.hide(MESSAGE, WAIT) == "done"


@pytest.mark.parametrize(
    ("wait", "age", "seconds"),
    [
        (timedelta(), timedelta(), 0),
        (timedelta(milliseconds=1), timedelta(), 1),
        (timedelta(hours=12), timedelta(), HOURS_12 - 60),
        (timedelta(hours=2), timedelta(hours=11), 3600 - 60),
        (timedelta(hours=2), timedelta(hours=13), 0),
        (timedelta(seconds=-1), timedelta(), 0),
    ],
)
def test_no_message_is_hidden_for_more_than_12_hours_from_its_receipt_on(
    wait: timedelta, age: timedelta, seconds: int
) -> None:
    assert visible_in(wait, age) == seconds


@pytest.mark.parametrize(
    "code",
    [
        "ReceiptHandleIsInvalid",
        "AWS.SimpleQueueService.MessageNotInflight",
        "MessageNotInflight",
        "InvalidParameterValue",
    ],
)
def test_a_receipt_that_has_run_out_is_no_trouble(inbox: Inbox, sqs: Stubber, written: StringIO, code: str) -> None:
    for operation in ("change_message_visibility", "delete_message"):
        sqs.add_client_error(operation, code)
    assert inbox.hide(MESSAGE, WAIT) == "gone"
    assert inbox.delete(MESSAGE) == "gone"
    assert levels(written) == ["INFO", "INFO"]


@pytest.mark.parametrize(
    "code",
    [
        "AccessDenied",
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDoesNotExist",
        "RequestThrottled",
        "ThrottlingException",
        "InternalFailure",
    ],
)
def test_whatever_else_sqs_says_the_message_comes_back_and_there_is_a_warning_with_its_word(
    inbox: Inbox, sqs: Stubber, written: StringIO, code: str
) -> None:
    for operation in ("change_message_visibility", "delete_message", "send_message"):
        sqs.add_client_error(operation, code)
    assert inbox.hide(MESSAGE, WAIT) == "unheard"
    assert inbox.delete(MESSAGE) == "unheard"
    assert not inbox.bury(MESSAGE, reason="it failed", job="sample", run_id=7)
    assert levels(written) == ["WARNING"] * 3
    assert written.getvalue().count(code) == 3


def test_a_call_that_comes_nowhere_is_made_once_by_who_gives_up_and_is_said_once(
    log: Logger, written: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-central-1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        inbox = Inbox(URL, DEAD, log, lambda: one_try("sqs", connect=0.2, read=0.2), gives_up=True)
        assert [inbox.hide(MESSAGE, WAIT) for _ in range(3)] == ["unheard"] * 3
        assert not inbox.bury(MESSAGE, reason="it failed", job="sample", run_id=7)
        silent.settimeout(5)
        silent.accept()[0].close()
        silent.settimeout(0)
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert levels(written) == ["WARNING"]


def test_a_worker_goes_on_asking(log: Logger, written: StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    inbox = Inbox(URL, DEAD, log, lambda: one_try("sqs", connect=0.2, read=0.2))
    assert [inbox.delete(MESSAGE) for _ in range(2)] == ["unheard"] * 2
    assert levels(written) == ["WARNING"] * 2
    with pytest.raises(NoAnswer, match=r"receive_message of https://sqs.*127\.0\.0\.1:1") as caught:
        inbox.receive(1)
    assert caught.value.code is None


def test_a_client_that_cannot_be_made_is_no_answer_either(
    log: Logger, written: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    inbox = Inbox(URL, DEAD, log, lambda: one_try("sqs", connect=0.2, read=0.2), gives_up=True)
    assert inbox.hide(MESSAGE, WAIT) == "unheard"
    assert "region" in written.getvalue()


@pytest.mark.parametrize("end", ["", ".fifo"])
def test_a_dead_letter_has_the_body_as_it_was_and_says_why(sqs: Stubber, log: Logger, end: str) -> None:
    facts = {"Reason": "it failed: a line and another", "Job": "sample", "Run": "7"}
    expected: dict[str, Any] = {
        "QueueUrl": DEAD + end,
        "MessageBody": '{"key": "photo-1"}',
        "MessageAttributes": {name: {"DataType": "String", "StringValue": text} for name, text in facts.items()},
    }
    if end:
        expected |= {"MessageGroupId": "r7", "MessageDeduplicationId": "0a1b"}
    sqs.add_response(
        "send_message", {"MessageId": "2", "MD5OfMessageBody": "a13ad55f5a5ad5b6ed3abb3e5e3c3b9a"}, expected
    )
    inbox = Inbox(URL + end, DEAD + end, log, lambda: sqs.client)
    assert inbox.bury(MESSAGE, reason="it failed: a line\nand another", job="sample", run_id=7)


@pytest.mark.parametrize(
    ("reason", "shown"), [("", "no reason is known"), ("\0\n", "no reason is known"), ("x" * 2000, "x" * 1000)]
)
def test_a_reason_is_one_that_sqs_takes(inbox: Inbox, sqs: Stubber, reason: str, shown: str) -> None:
    attributes = {"Reason": {"DataType": "String", "StringValue": shown}, "Job": ANY, "Run": ANY}
    expected = {"QueueUrl": DEAD, "MessageBody": ANY, "MessageAttributes": attributes}
    sqs.add_response("send_message", {"MessageId": "2"}, expected)
    assert inbox.bury(MESSAGE, reason=reason, job="sample", run_id=7)


def test_a_message_is_asked_for_with_what_the_consumer_needs_of_it(inbox: Inbox, sqs: Stubber) -> None:
    expected = {
        "QueueUrl": URL,
        "MaxNumberOfMessages": 1,
        "WaitTimeSeconds": 20,
        "AttributeNames": ["ApproximateReceiveCount", "SentTimestamp", "MessageGroupId"],
    }
    attributes = {"ApproximateReceiveCount": "3", "SentTimestamp": "1796005591568", "MessageGroupId": "r7"}
    message = {"MessageId": "0a1b", "ReceiptHandle": "a-receipt", "Body": "b", "Attributes": attributes}
    sqs.add_response("receive_message", {"Messages": [message]}, expected)
    sqs.add_response("receive_message", {}, expected)
    [received] = inbox.receive(20)
    assert (received.receives, received.group, received.body) == (3, "r7", "b")
    assert received.sent_at == datetime(2026, 11, 30, 2, 26, 31, 568000, UTC)
    assert inbox.receive(20) == []


@pytest.mark.parametrize("code", ["AccessDenied", "AWS.SimpleQueueService.NonExistentQueue", "OverLimit"])
def test_a_queue_that_gives_no_message_raises_with_its_word(inbox: Inbox, sqs: Stubber, code: str) -> None:
    sqs.add_client_error("receive_message", code, "not now")
    with pytest.raises(NoAnswer, match="not now") as caught:
        inbox.receive(1)
    assert caught.value.code == code.rpartition(".")[2]


def test_a_message_without_attributes_was_taken_once() -> None:
    received = of_answer({"MessageId": "0a1b", "ReceiptHandle": "a-receipt", "Body": "b"})
    assert (received.receives, received.sent_at, received.group) == (1, None, None)
