"""A message while its run goes on: it stays hidden, for as long as SQS hides messages."""

import threading
from datetime import timedelta

import psycopg
from aws_lambda_powertools.logging import Logger

from handlers.runtime.consume import Consumer
from handlers.runtime.hold import Hold
from handlers.runtime.inbox import Heard, Inbox, Received
from tests.runtime.queues.post import NOWHERE, STATES, Post, consumer_of, queued, taken

MESSAGE_UNTIL = "select message_until from shiftlock.job_runs"


class Counting(Inbox):
    """Tells a test of each time that a message was hidden."""

    def __init__(self, inbox: Inbox) -> None:
        self.__dict__.update(inbox.__dict__)
        self.beats = threading.Semaphore(0)
        self.waits: list[timedelta] = []

    def hide(self, received: Received, wait: timedelta) -> Heard:
        heard = super().hide(received, wait)
        self.waits.append(wait)
        self.beats.release()
        return heard


BEAT = timedelta(milliseconds=20)


def test_a_message_is_hidden_anew_with_each_beat_and_no_more_once_its_run_is_over(
    post: Post, consumer: Consumer
) -> None:
    post.send("photo-1")
    inbox, received = Counting(consumer.inbox), taken(post)
    with Hold(inbox, received, consumer.let_go, beat=BEAT) as hold:
        for _ in range(3):
            assert inbox.beats.acquire(timeout=30)
    assert not hold.has_let_go
    assert set(inbox.waits) == {6 * BEAT}
    assert "hold" not in [thread.name for thread in threading.enumerate()]
    assert post.counts() == (0, 1)


def test_a_message_that_sqs_hides_no_longer_is_left_to_the_ledger_while_its_run_goes_on(
    post: Post, consumer: Consumer, effects: psycopg.Connection
) -> None:
    post.send("photo-1", fails=1)
    received, let_go = taken(post), threading.Event()

    def leave(received: Received) -> bool:
        left = consumer.let_go(received)
        let_go.set()
        return left

    with Hold(consumer.inbox, received, leave, beat=BEAT, longest=6 * BEAT) as hold:
        judged = consumer.judge(received)
        assert let_go.wait(30)
    assert hold.has_let_go
    assert consumer.settle(received, judged.without_message()) is None
    assert post.counts() == (0, 0)
    assert effects.execute(STATES).fetchall() == [("photo-1", "pending", 1)]
    assert effects.execute(MESSAGE_UNTIL).fetchone() == (None,)


def test_a_message_is_held_on_to_while_the_ledger_cannot_be_told(post: Post, log: Logger) -> None:
    consumer = consumer_of(post, NOWHERE, queued(), log)
    post.send("photo-1")
    tries = threading.Semaphore(0)

    def leave(received: Received) -> bool:
        left = consumer.let_go(received)
        tries.release()
        return left

    with Hold(consumer.inbox, taken(post), leave, beat=BEAT, longest=timedelta()) as hold:
        for _ in range(2):
            assert tries.acquire(timeout=30)
    assert not hold.has_let_go
    assert post.counts() == (0, 1)


def test_nothing_is_done_any_more_for_a_message_that_another_has(post: Post, consumer: Consumer) -> None:
    post.send("photo-1")
    inbox, received = Counting(consumer.inbox), taken(post)
    inbox.delete(received)
    with Hold(inbox, received, consumer.let_go, beat=BEAT) as hold:
        assert inbox.beats.acquire(timeout=30)
        hold._thread.join(30)
        assert not hold._thread.is_alive()
    assert len(inbox.waits) == 1
