"""Whatever is killed, and whenever: what has committed is sent, and what has not never was."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from handlers.guard.lock import lock_key
from handlers.runtime.relay import Relayed, relay
from tests.guard.holders import ask
from tests.queues.door import LONG, Door, door_to
from tests.queues.post import REGION, TABLE, Post
from tests.runtime.outbox import left, write
from tests.runtime.sandbox import REPOSITORY

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def door(post: Post) -> Iterator[Door]:
    """The way to those queues for other processes."""
    with door_to(post.sqs) as door:
        yield door


@pytest.fixture
def start(database_url: str) -> Iterator[Start]:
    """Starts a module as a process, which is killed at the end."""
    with ExitStack() as stack:

        def started(module: str, **variables: str) -> "subprocess.Popen[str]":
            keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": REGION}
            process = subprocess.Popen(
                [sys.executable, "-m", module],
                env={"PATH": os.environ["PATH"], "SHIFTLOCK_DATABASE_URL": database_url} | keys | variables,
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield started


def start_relay(start: Start, door: Door) -> "subprocess.Popen[str]":
    return start("tests.runtime.relay_process", AWS_ENDPOINT_URL_SQS=door.url)


def killed(process: "subprocess.Popen[str]", database: psycopg.Connection) -> None:
    """Kill the relay, and wait until the server has noticed: its line is free then."""
    process.kill()
    process.wait(LONG)
    database.execute(
        "select pg_advisory_lock(%(key)s), pg_advisory_unlock(%(key)s)", {"key": lock_key(" outbox resize")}
    )


def test_a_relay_sends_and_says_so(database: psycopg.Connection, post: Post, door: Door, start: Start) -> None:
    write(database, "resize", "a", "b")
    process = start_relay(start, door)
    call = door.next_call()
    assert call.keys == ["a", "b"]
    call.let_through()
    assert process.communicate(timeout=LONG)[0] == "2\n"
    assert sorted(post.keys("resize")) == ["a", "b"]
    assert left(database) == []


def test_a_relay_that_is_killed_before_it_sends_loses_nothing(
    database: psycopg.Connection, post: Post, door: Door, start: Start
) -> None:
    write(database, "resize", "a", "b")
    process = start_relay(start, door)
    door.next_call()
    killed(process, database)
    assert post.take("resize") == []
    assert left(database) == ["a", "b"]
    assert relay(database, post.publisher, TABLE) == Relayed(2, 0, 0.0)
    assert sorted(post.keys("resize")) == ["a", "b"]


def test_what_a_relay_had_sent_when_it_was_killed_before_its_commit_is_sent_again(
    database: psycopg.Connection, post: Post, door: Door, start: Start
) -> None:
    write(database, "resize", "a", "b")
    process = start_relay(start, door)
    door.next_call().let_in()
    killed(process, database)
    assert left(database) == ["a", "b"]
    assert relay(database, post.publisher, TABLE) == Relayed(2, 0, 0.0)
    assert sorted(post.keys("resize")) == ["a", "a", "b", "b"]


def test_while_a_relay_sends_no_other_one_sends_the_same(
    database: psycopg.Connection, post: Post, door: Door, start: Start
) -> None:
    write(database, "resize", "a")
    process = start_relay(start, door)
    call = door.next_call()
    assert relay(database, post.publisher, TABLE).sent == 0
    call.let_through()
    assert process.communicate(timeout=LONG)[0] == "1\n"
    assert relay(database, post.publisher, TABLE) == Relayed(0, 0, 0.0)
    assert post.keys("resize") == ["a"]


@pytest.mark.parametrize(("commits", "effects"), [(False, 0), (True, 1)])
def test_a_job_that_is_killed_has_both_its_effect_and_its_message_or_neither(
    database: psycopg.Connection, post: Post, start: Start, *, commits: bool, effects: int
) -> None:
    database.execute("create table effects (name text)")
    process = start("tests.runtime.writer_process")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    if commits:
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "committed\n"
    process.kill()
    process.wait(LONG)
    with database.transaction():
        database.execute("lock table effects")  # which waits for the end of the other transaction
    assert relay(database, post.publisher, TABLE).sent == effects
    assert ask(database, "select count(*) from effects") == effects
    assert post.keys("resize") == ["a"] * effects
