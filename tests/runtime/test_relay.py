"""What stands in the outbox is sent, in its order, and goes when SQS has it."""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import psycopg
import pytest

from handlers.declaration.job import Job
from handlers.guard.mail import take_line
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest
from handlers.queues.message import ELSEWHERE, read_message
from handlers.queues.publish import Publisher
from handlers.queues.sending import Delivered, Letter, Pace
from handlers.runtime import relay as module
from handlers.runtime.relay import Relayed, relay
from tests.guard.holders import LEASE, ask
from tests.queues.post import BASE, FILES, TABLE, Post
from tests.runtime.outbox import left, write


def test_what_is_in_the_outbox_is_sent_with_what_the_ledger_says_of_it(
    database: psycopg.Connection, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-2")
    write(database, "resize", "a", payload={"n": 1, "text": "ق"}, partition="north")
    assert relay(database, post.publisher, TABLE) == Relayed(1, 0, 0.0)
    message = read_message(json.dumps(post.take("resize")[0]))
    assert (message.job, message.key, message.partition) == ("resize", "a", "north")
    assert (message.payload, message.trace) == ({"n": 1, "text": "ق"}, "Root=1-2")
    assert left(database) == []


def test_nothing_in_the_outbox_is_no_call(database: psycopg.Connection) -> None:
    assert relay(database, Publisher(BASE, TABLE, sqs=object()), TABLE) == Relayed(0, 0, 0.0)


def test_the_jobs_have_their_turns_until_the_limit(
    database: psycopg.Connection, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PORTION", 20)
    write(database, "resize", *(f"r{n}" for n in range(40)))
    write(database, "pull", *(f"p{n}" for n in range(5)))
    relayed = relay(database, post.publisher, TABLE, limit=30)
    assert (relayed.sent, relayed.left) == (30, 15)
    assert relayed.oldest_age > 0
    assert post.keys("pull") == [f"p{n}" for n in range(5)]
    assert relay(database, post.publisher, TABLE) == Relayed(15, 0, 0.0)
    assert sorted(post.keys("resize")) == sorted(f"r{n}" for n in range(40))


def test_each_portion_is_committed_before_the_next_is_sent(
    database: psycopg.Connection, database_url: str, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PORTION", 10)
    write(database, "resize", *(f"r{n}" for n in range(30)))
    seen = []

    class Watched:
        def send_message_batch(self, **call: Any) -> Any:
            with psycopg.connect(database_url) as other:
                seen.append(len(left(other)))
            return post.sqs.send_message_batch(**call)

    relay(database, Publisher(BASE, TABLE, Watched()), TABLE)
    assert seen == [30, 20, 10]


def test_few_large_payloads_are_in_memory_at_once(
    database: psycopg.Connection, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.guard.mail.TOGETHER", 250_000)
    write(database, "resize", *(f"r{n}" for n in range(7)), payload={"x": "x" * 100_000})
    letters = []
    post_letters = post.publisher.post

    def noted(job: Job, portion: Sequence[Letter], pace: Pace) -> Delivered:
        letters.append(len(portion))
        return post_letters(job, portion, pace)

    monkeypatch.setattr(post.publisher, "post", noted)
    assert relay(database, post.publisher, TABLE).sent == 7
    assert letters == [3, 3, 1]


def test_what_is_held_back_is_not_due_yet(database: psycopg.Connection, post: Post) -> None:
    write(database, "resize", "now")
    write(database, "resize", "later", delay=timedelta(minutes=1))
    assert relay(database, post.publisher, TABLE) == Relayed(1, 0, 0.0)
    assert left(database) == ["later"]


def test_the_age_is_that_of_the_oldest_which_is_due(database: psycopg.Connection, post: Post) -> None:
    write(database, "nightly", "a", "b")
    database.execute(
        "update shiftlock.outbox set created_at = now() - interval '1 hour', send_after = now() - interval '40 s'"
    )
    relayed = relay(database, post.publisher, TABLE)
    assert relayed.left == 2
    assert relayed.oldest_age == pytest.approx(40, abs=5)


def test_a_payload_in_the_bucket_is_an_address_in_the_message(database: psycopg.Connection, post: Post) -> None:
    place = f"s3://{FILES}/payloads/resize/{'0' * 64}"
    write(database, "resize", "a", payload={ELSEWHERE: place})
    relay(database, post.publisher, TABLE)
    message = read_message(json.dumps(post.take("resize")[0]))
    assert (message.payload, message.payload_at) == (None, place)


@pytest.mark.parametrize("status", ["cancelled", "failed"])
def test_a_run_that_has_ended_needs_no_message(database: psycopg.Connection, post: Post, status: str) -> None:
    write(database, "resize", "a", "b")
    database.execute("update shiftlock.job_runs set status = %s, finished_at = now() where run_key = 'a'", [status])
    assert relay(database, post.publisher, TABLE) == Relayed(1, 0, 0.0)
    assert post.keys("resize") == ["b"]


def test_a_run_that_goes_on_gets_no_message_and_the_ledger_expects_none(
    database: psycopg.Connection, database_url: str, post: Post
) -> None:
    write(database, "resize", "a")
    request = ClaimRequest(
        job="resize", run_key="a", tick=None, trigger="queue", holder="me", compute="test", lease=LEASE
    )
    with Guard(lambda: database_url, lease=LEASE, name="test") as guard:
        guard.claim(request)
    database.execute("update shiftlock.job_runs set message_until = now() + interval '4 days'")
    assert relay(database, post.publisher, TABLE) == Relayed(0, 0, 0.0)
    assert post.take("resize") == []
    assert ask(database, "select message_until is null from shiftlock.job_runs where run_key = 'a'")


def test_a_run_that_a_message_is_sent_for_is_expected_to_have_it(database: psycopg.Connection, post: Post) -> None:
    write(database, "resize", "a")
    relay(database, post.publisher, TABLE)
    assert ask(database, "select message_until > now() from shiftlock.job_runs where run_key = 'a'")


def test_the_partitions_of_a_fifo_queue_have_their_messages_in_the_order_of_the_outbox(
    database: psycopg.Connection, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PORTION", 13)
    keys = [f"{partition}{n}" for n in range(10) for partition in "abc"]
    write(database, "pull", *keys)
    assert relay(database, post.publisher, TABLE).sent == 30
    found = post.keys("pull")
    for partition in "abc":
        assert [key for key in found if key[0] == partition] == [f"{partition}{n}" for n in range(10)]


def test_a_run_may_be_rung_for_again_at_once_though_the_queue_is_fifo(database: psycopg.Connection, post: Post) -> None:
    write(database, "pull", "a")
    database.execute("insert into shiftlock.outbox (run_id, job_name) select run_id, job_name from shiftlock.outbox")
    assert relay(database, post.publisher, TABLE).sent == 2
    assert post.keys("pull") == ["a", "a"]


def test_after_its_end_nothing_is_begun(database: psycopg.Connection, post: Post) -> None:
    write(database, "resize", "a")
    assert relay(database, post.publisher, TABLE, ends_at=time.monotonic()).left == 1
    assert post.take("resize") == []


def test_a_slow_sqs_ends_the_portion_and_not_the_order(
    database: psycopg.Connection, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of a portion is over after its first call; the next portion goes on where that was."""
    moment = iter(float(n) for n in range(10_000))
    monkeypatch.setattr("handlers.queues.sending.time.monotonic", lambda: next(moment) * 1.2)
    write(database, "pull", *(f"a{n}" for n in range(6)))
    assert relay(database, post.publisher, TABLE).sent == 6
    assert post.keys("pull") == [f"a{n}" for n in range(6)]


def test_a_job_whose_line_is_taken_is_left_to_the_other_relay(
    database: psycopg.Connection, database_url: str, post: Post
) -> None:
    write(database, "resize", "a")
    write(database, "pull", "p")
    with psycopg.connect(database_url) as other:
        assert take_line(other, "resize")
        relayed = relay(database, post.publisher, TABLE)
        assert (relayed.sent, relayed.left, relayed.troubles) == (1, 1, {})
    assert relay(database, post.publisher, TABLE).sent == 1


def test_relays_at_the_same_time_send_each_row_once(
    database: psycopg.Connection, database_url: str, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PORTION", 7)
    keys = [f"r{n}" for n in range(60)]
    write(database, "resize", *keys)
    start = Barrier(3)

    def one() -> int:
        sent = 0
        with psycopg.connect(database_url, autocommit=True) as connection:
            start.wait(timeout=30)
            while (relayed := relay(connection, post.publisher, TABLE)).left:
                sent += relayed.sent
            return sent + relayed.sent

    with ThreadPoolExecutor(3) as pool:
        assert sum(future.result(timeout=60) for future in [pool.submit(one) for _ in range(3)]) == 60
    assert sorted(post.keys("resize")) == sorted(keys)


def test_what_is_not_committed_is_not_sent(database: psycopg.Connection, database_url: str, post: Post) -> None:
    with psycopg.connect(database_url) as writer:
        write(writer, "resize", "a")
        assert relay(database, post.publisher, TABLE) == Relayed(0, 0, 0.0)
        writer.rollback()
    assert relay(database, post.publisher, TABLE) == Relayed(0, 0, 0.0)
    assert post.take("resize") == []
    write(database, "resize", "a")
    assert relay(database, post.publisher, TABLE).sent == 1
