"""A message between SQS, which counts, and the ledger, which remembers: it is lost to neither."""

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from aws_lambda_powertools.logging import Logger

from handlers.declaration.duration import minutes, seconds
from handlers.declaration.queue_limits import receives
from handlers.queues.verdict import Verdict
from handlers.runtime.consume import Consumer
from handlers.runtime.inbox import Inbox, Received
from handlers.runtime.judged import NO_TIME, Judged, in_its_place, longer_each_time
from handlers.runtime.stop import Stop
from handlers.runtime.worker_entry import Worker
from tests.runtime.queues.post import NOWHERE, STATES, Post, consumer_of, queued, taken

LATER = Verdict("later", "attempt 1 of 3 failed", minutes(2))
PARK = Verdict("park", "the job is paused")
DEAD = Verdict("dead", "it failed")
DELETE = Verdict("delete", "the job returned")
LAST = Verdict("park", "attempt 1 of 3 failed; taken once more it would be a dead letter")
MESSAGE_UNTIL = "select message_until from shiftlock.job_runs"


@pytest.mark.parametrize(
    ("wanted", "fifo", "taken", "becomes"),
    [
        (LATER, False, 12, LATER),
        (LATER, True, 12, LATER),
        (LATER, False, 13, LAST),
        (LATER, True, 13, LAST),
        (PARK, False, 1, PARK),
        (PARK, True, 1, Verdict("later", "the job is paused", seconds(15))),
        (PARK, True, 3, Verdict("later", "the job is paused", minutes(1))),
        (PARK, True, 13, PARK),
        (DEAD, True, 13, DEAD),
        (DELETE, True, 13, DELETE),
    ],
)
def test_no_message_becomes_a_dead_letter_by_being_taken_and_a_fifo_queue_keeps_its_order(
    wanted: Verdict, taken: int, becomes: Verdict, *, fifo: bool
) -> None:
    assert in_its_place(wanted, fifo=fifo, taken=taken, most=13) == becomes


def test_an_outage_of_more_than_an_hour_makes_no_dead_letter() -> None:
    job = queued()
    assert job.queue is not None
    shortest = sum((longer_each_time(taken) / 2 for taken in range(1, receives(job, job.queue) + 1)), timedelta())
    assert shortest > minutes(60)
    assert longer_each_time(1000) == minutes(15)


def test_a_message_taken_for_the_last_time_is_left_to_the_ledger_before_sqs_buries_it(
    post: Post, consumer: Consumer, effects: psycopg.Connection
) -> None:
    post.send("photo-1", fails=1)
    received = taken(post, times=13)
    judged = consumer.judge(received)
    assert judged.verdict.deed == "later"
    assert consumer.settle(received, judged) is None
    assert effects.execute(STATES).fetchall() == [("photo-1", "pending", 1)]
    assert effects.execute(MESSAGE_UNTIL).fetchone() == (None,)


def test_a_message_that_there_was_never_time_for_is_left_to_the_ledger_in_the_end(
    post: Post, consumer: Consumer, effects: psycopg.Connection
) -> None:
    post.send("photo-1", width=1)
    received = taken(post, times=13)
    judged = consumer.judge(received, has_time=False)
    assert judged.verdict == NO_TIME
    assert consumer.settle(received, judged) is None
    assert effects.execute(STATES).fetchall() == [("photo-1", "pending", 0)]


def test_a_dead_letter_that_cannot_be_kept_is_left_to_sqs(
    post: Post, consumer: Consumer, effects: psycopg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    post.send("photo-1", fatal=True)
    post.sqs.delete_queue(QueueUrl=post.dead_letters)
    received = taken(post)
    wait = consumer.settle(received, consumer.judge(received))
    assert wait is not None
    assert seconds(7) < wait <= seconds(15)
    assert effects.execute(STATES).fetchall() == [("photo-1", "failed", 1)]
    assert "DeadLetter" not in capsys.readouterr().out


@pytest.mark.parametrize("verdict", [PARK, DEAD, LATER], ids=lambda verdict: verdict.deed)
def test_what_the_ledger_could_not_be_told_comes_back(post: Post, log: Logger, verdict: Verdict) -> None:
    consumer = consumer_of(post, NOWHERE, queued(), log)
    post.send_text("no message" if verdict is DEAD else '{"key": 1}')
    received = taken(post)
    message = None
    if verdict is not DEAD:
        post.send("photo-1")
        received = taken(post)
        message = consumer.judge(received, has_time=False).message
    wait = consumer.settle(received, Judged(verdict, message))
    assert wait is not None
    assert post.counts()[0] == 0
    assert post.dead() == []


def test_a_message_for_which_the_ledger_is_away_stays_even_when_taken_for_the_last_time(
    post: Post, log: Logger
) -> None:
    consumer = consumer_of(post, NOWHERE, queued(), log)
    post.send("photo-1")
    received = taken(post, times=13)
    judged = consumer.judge(received)
    assert judged.ledger_out
    assert consumer.settle(received, judged) is not None


class Late(Inbox):
    """Has the process told to stop while it waits for a message."""

    def __init__(self, inbox: Inbox, stop: Stop) -> None:
        self.__dict__.update(inbox.__dict__)
        self.stop = stop

    def receive(self, wait: int) -> list[Received]:
        self.stop.request()
        return super().receive(wait)


def test_a_message_that_comes_when_the_worker_was_told_to_stop_goes_back_at_once(
    post: Post, consumer: Consumer, effects: psycopg.Connection
) -> None:
    post.send("photo-1")
    stop = Stop()
    Worker(replace(consumer, inbox=Late(consumer.inbox, stop)), stop, poll=1).work()
    assert post.counts() == (1, 0)
    assert effects.execute(STATES).fetchall() == []


class Patient(Stop):
    """Notes for how long it was waited, and asks for the stop the third time."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        if len(self.waits) == 3:
            self.request()
        return self.is_set()


def test_a_worker_takes_no_more_messages_in_a_row_than_one_while_the_ledger_does_not_answer(
    post: Post, log: Logger
) -> None:
    for number in range(5):
        post.send(f"photo-{number}")
    stop = Patient()
    Worker(consumer_of(post, NOWHERE, queued(), log), stop, poll=1, jitter=lambda: 1.0).work()
    assert stop.waits == [1.0, 2.0, 4.0]
    assert post.counts() == (2, 3)


@pytest.mark.parametrize(("verdict", "becomes"), [(LATER, "delete"), (PARK, "delete"), (DEAD, "dead")])
def test_what_is_left_to_do_once_there_is_no_message_any_more(verdict: Verdict, becomes: str) -> None:
    assert Judged(verdict).without_message().verdict.deed == becomes
