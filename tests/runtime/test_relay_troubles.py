"""What cannot be sent stays in the outbox, says why, and holds up nobody but its own partition."""

import json
from io import StringIO

import psycopg
import pytest
from aws_lambda_powertools.logging import Logger

from handlers.queues.publish import Publisher
from handlers.runtime import relay as module
from handlers.runtime.relay import Relayed, log_relayed, relay
from tests.queues.post import BASE, TABLE, Post, answered
from tests.runtime.outbox import TOO_LARGE, left, write


def test_rows_of_a_job_that_has_left_the_table_stay_and_hold_nobody_up(
    database: psycopg.Connection, post: Post
) -> None:
    write(database, "resized", "old")
    write(database, "nightly", "n")
    write(database, "resize", "a")
    relayed = relay(database, post.publisher, TABLE)
    assert (relayed.sent, relayed.left) == (1, 2)
    assert "unknown job 'resized': did you mean resize?" in relayed.troubles["resized"]
    assert "nightly has no queue" in relayed.troubles["nightly"]
    assert left(database) == ["old", "n"]


def test_troubles_are_lines_in_the_log() -> None:
    written = StringIO()
    log_relayed(Logger(service="relay of a test", stream=written), Relayed(1, 2, 3.0, {"resize": "it is so"}))
    (line,) = map(json.loads, written.getvalue().splitlines())
    assert (line["level"], line["message"]) == ("ERROR", "not relayed")
    assert (line["job"], line["because"], line["left"]) == ("resize", "it is so", 2)


def test_without_its_queue_every_row_of_the_job_stays(database: psycopg.Connection, post: Post) -> None:
    write(database, "resize", *(f"r{n}" for n in range(30)))
    write(database, "pull", "p")
    post.sqs.delete_queue(QueueUrl=f"{BASE}resize")
    relayed = relay(database, post.publisher, TABLE)
    assert (relayed.sent, relayed.left) == (1, 30)
    assert "deploy the environment" in relayed.troubles["resize"]


def test_a_payload_that_fits_no_message_stays_and_holds_nobody_up(database: psycopg.Connection, post: Post) -> None:
    write(database, "resize", "large", payload=TOO_LARGE)
    write(database, "resize", "huge", payload={"x": "x" * 3_000_000})
    write(database, "resize", "nul", "small")
    relayed = relay(database, post.publisher, TABLE)
    assert (relayed.sent, relayed.left) == (2, 2)
    assert relayed.troubles["resize"] == "run huge: its payload is of 3,000,009 bytes: SQS takes 1,048,576"
    assert sorted(post.keys("resize")) == ["nul", "small"]


@pytest.mark.parametrize("portion", [3, 500])
def test_in_a_fifo_queue_a_row_that_cannot_be_sent_holds_its_own_partition_alone(
    database: psycopg.Connection, post: Post, monkeypatch: pytest.MonkeyPatch, portion: int
) -> None:
    monkeypatch.setattr(module, "PORTION", portion)
    write(database, "pull", "a1", "b1")
    write(database, "pull", "a2", payload=TOO_LARGE)
    write(database, "pull", "a3", "b2", "b3", "a4")
    relayed = relay(database, post.publisher, TABLE)
    assert (relayed.sent, relayed.left) == (4, 3)
    assert "run a2: its payload is of" in relayed.troubles["pull"]
    assert sorted(post.keys("pull")) == ["a1", "b1", "b2", "b3"]
    assert left(database) == ["a2", "a3", "a4"]


def test_in_a_fifo_queue_nothing_is_sent_behind_what_sqs_refuses(database: psycopg.Connection) -> None:
    write(database, "pull", "a1", "b1", "a2", "b2")
    refused = {"Id": "0", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "no"}
    entry = {"MessageId": "m", "MD5OfMessageBody": "x"}
    with answered() as answers:
        answers.stub.add_response("send_message_batch", {"Successful": [{"Id": "1"} | entry], "Failed": [refused]})
        answers.stub.add_response("send_message_batch", {"Successful": [{"Id": "0"} | entry], "Failed": []})
        relayed = relay(database, Publisher(BASE, TABLE, answers.sqs), TABLE)
    assert (relayed.sent, relayed.left) == (2, 2)
    assert relayed.troubles == {"pull": "run a1: InvalidMessageContents: no"}
    assert left(database) == ["a1", "a2"]
