"""A batch of messages on Lambda: each is a run, and goes or comes back by what has become of it."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import psycopg
import pytest

from handlers.declaration.policy import Retry
from handlers.queues.address import NoQueue
from handlers.queues.verdict import verdict
from handlers.runtime.queue_entry import handler
from handlers.runtime.settings import InvalidSettings
from tests.runtime.lambda_calls import LambdaCall
from tests.runtime.queues.batches import call, hidden_for, measured
from tests.runtime.queues.post import EFFECTS, STATES, Post, mocked_post, queued
from tests.runtime.running import sample
from tests.runtime.test_imports import loaded_by

ONCE = Retry(attempts=1)
BACK_IN = "select extract(epoch from message_until - next_run)::int from shiftlock.job_runs where run_key = %s"


def no_client() -> None:
    raise AssertionError("SQS was asked")


def test_each_message_of_a_batch_is_a_run_of_its_own_and_no_call_is_made(
    function_of: Callable[..., None],
    post: Post,
    effects: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    written: StringIO,
) -> None:
    for number in range(10):
        post.send(f"photo-{number}", width=number)
    function_of(queued(), post)
    monkeypatch.setattr("handlers.runtime.queue_entry._sqs", no_client)
    records = post.take()
    assert len(records) == 10
    assert call(records) == {"batchItemFailures": []}
    assert effects.execute(EFFECTS).fetchall() == [(f"photo-{number}", 1) for number in range(10)]
    rows = effects.execute("select trigger, tick, payload, status from shiftlock.job_runs order by run_key")
    assert rows.fetchall() == [("queue", None, {"width": number}, "succeeded") for number in range(10)]
    [in_queue] = measured(capsys, "TimeInQueue")
    assert len(in_queue) == 10
    said = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["message_id"] for line in said] == [name for record in records for name in [record["messageId"]] * 2]
    assert "width" not in written.getvalue()


def test_a_message_that_comes_twice_has_its_effect_once_and_goes(
    function_of: Callable[..., None], post: Post, effects: psycopg.Connection
) -> None:
    post.send("photo-1")
    post.send("photo-1")
    function_of(queued(), post)
    records = post.take()
    assert len(records) == 2
    assert post.end(records, call(records)) == set()
    assert effects.execute(EFFECTS).fetchall() == [("photo-1", 1)]
    assert post.counts() == (0, 0)


def test_a_failed_attempt_comes_back_after_its_backoff_and_the_ledger_expects_it_then(
    function_of: Callable[..., None], post: Post, effects: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    post.send("photo-1", fails=1)
    post.send("photo-2")
    function_of(queued(), post)
    said = hidden_for(monkeypatch)
    records = post.take()
    assert post.end(records, call(records)) == {"photo-1"}
    assert said == {"photo-1": [60]}
    assert effects.execute(STATES).fetchall() == [("photo-1", "pending", 1), ("photo-2", "succeeded", 1)]
    assert effects.execute(BACK_IN, ("photo-1",)).fetchone() == (600,)
    assert post.counts() == (0, 1)
    for record in records:  # its time has come
        if json.loads(record["body"])["key"] == "photo-1":
            post.sqs.change_message_visibility(
                QueueUrl=post.url, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=0
            )
    effects.execute("update shiftlock.job_runs set next_run = clock_timestamp()")
    again = post.take()
    assert post.end(again, call(again)) == set()
    assert effects.execute(STATES).fetchall() == [("photo-1", "succeeded", 2), ("photo-2", "succeeded", 1)]
    assert effects.execute(EFFECTS).fetchall() == [("photo-1", 1), ("photo-2", 1)]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"fails": 9}, "attempt 1 of 1 failed: ConnectionError: the bucket was busy"),
        ({"fatal": True}, "the job raised Fatal: Fatal: the picture is broken"),
    ],
)
def test_a_run_that_has_failed_for_good_is_a_dead_letter_with_its_reason(
    function_of: Callable[..., None],
    post: Post,
    effects: psycopg.Connection,
    capsys: pytest.CaptureFixture[str],
    payload: dict[str, Any],
    reason: str,
) -> None:
    post.send("photo-1", **payload)
    function_of(queued(retry=ONCE), post)
    records = post.take()
    assert post.end(records, call(records)) == set()
    row = effects.execute("select id::text from shiftlock.job_runs where status = 'failed'").fetchone()
    assert row is not None
    assert post.dead() == [(records[0]["body"], {"Reason": reason, "Job": "sample", "Run": row[0]})]
    assert post.counts() == (0, 0)
    assert measured(capsys, "DeadLetter") == [[1]]


MALFORMED = {
    "no JSON": "a guest's secret",
    "another type": '{"type": "shiftlock.run/9"}',
    "another job": '{"type":"shiftlock.run/1","job":"other","key":"1","payload":{},"sent":"2026-11-29T02:00:00Z"}',
    "no key": '{"type":"shiftlock.run/1","job":"sample","payload":{},"sent":"2026-11-29T02:00:00Z"}',
}


@pytest.mark.parametrize(
    ("text", "fifo"),
    [*((text, False) for text in MALFORMED.values()), (MALFORMED["no JSON"], True)],
    ids=[*MALFORMED, "in order"],
)
def test_what_is_no_message_is_a_dead_letter_and_a_failed_run_and_the_rest_goes_on(
    function_of: Callable[..., None],
    effects: psycopg.Connection,
    written: StringIO,
    text: str,
    *,
    fifo: bool,
) -> None:
    with mocked_post(fifo=fifo) as post:
        post.send_text(text, group="r1")
        post.send("photo-1", "r1")
        function_of(queued(fifo=fifo), post)
        records = post.take()
        assert post.end(records, call(records)) == set()
        name = next(record["messageId"] for record in records if record["body"] == text)
        assert effects.execute(STATES).fetchall() == [(f"message:{name}", "failed", 0), ("photo-1", "succeeded", 1)]
        row = effects.execute("select id::text, error_msg from shiftlock.job_runs where status = 'failed'").fetchone()
        assert row is not None
        assert row[1].startswith("malformed message: ")
        assert post.dead() == [(text, {"Reason": row[1], "Job": "sample", "Run": row[0]})]
        assert "malformed message: the ledger has the reason" in written.getvalue()
        assert "secret" not in written.getvalue()


def test_an_error_that_nobody_expected_costs_its_own_message_alone(
    function_of: Callable[..., None],
    post: Post,
    effects: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    written: StringIO,
) -> None:

    def break_once(*given: Any, **facts: Any) -> Any:
        monkeypatch.setattr("handlers.runtime.consume.verdict", verdict)
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("handlers.runtime.consume.verdict", break_once)
    post.send("photo-1")
    post.send("photo-2")
    function_of(queued(), post)
    records = post.take()
    assert len(post.end(records, call(records))) == 1
    assert effects.execute(STATES).fetchall() == [("photo-1", "succeeded", 1), ("photo-2", "succeeded", 1)]
    assert "a mistake of ours" in written.getvalue()


def test_any_other_event_is_a_start_as_of_any_job(function_of: Callable[..., None], post: Post) -> None:
    function_of(sample("succeed", queue=queued().queue), post)
    answer = handler({"trigger": "rule", "time": "2026-11-29T02:00:07Z"}, LambdaCall("request"))
    assert (answer["run"], answer["outcome"]) == ("2026-11-29T02:00Z", "succeeded")


def test_a_function_that_is_not_set_up_for_messages_says_what_it_lacks(
    function_of: Callable[..., None], post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    post.send("photo-1")
    function_of(queued(), post)
    monkeypatch.delenv("SHIFTLOCK_QUEUES")
    with pytest.raises(InvalidSettings, match="SHIFTLOCK_QUEUES is not set"):
        call(post.take())
    function_of(sample("succeed"), post)
    post.send("photo-2")
    with pytest.raises(NoQueue, match="sample has no queue"):
        call(post.take())


def test_a_cold_start_loads_no_sdk_and_little_beside_what_any_function_loads() -> None:
    modules = loaded_by("import handlers.runtime.queue_entry")
    assert [module for module in modules if module.startswith(("boto3", "botocore.", "handlers.jobs"))] == []
    more = modules - loaded_by("import handlers.runtime.lambda_entry")
    # Powertools' batches know all events that there are; the rest is ours.
    assert len([module for module in more if not module.startswith("aws_lambda_powertools.")]) <= 12
    assert len(more) <= 60
