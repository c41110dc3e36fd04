"""Workers as processes, on a local SQS: they take, drain, die and freeze, and each effect happens once."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from handlers.declaration.catalogue import declare
from handlers.runtime import worker_entry
from handlers.runtime.worker_entry import LONGEST_PAUSE, pause
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from tests.guard.holders import wait_until
from tests.runtime.queues.post import EFFECTS, NOWHERE, STATES, Post, effects_in, open_post, queued
from tests.runtime.running import sample
from tests.runtime.sandbox import LONG, REPOSITORY, Ended, environment

ATTEMPTS = "select attempt, outcome from shiftlock.job_attempts order by attempt"
BEGUN = "listen begun"
BOTH_HAVE_ENDED = "select count(*) = 2 from shiftlock.job_runs where status = 'succeeded'"
VISIBILITY = 2  # seconds
SHORT_LEASE = 1  # seconds; it is over before the message of its holder comes back
DATABASE = ("127.0.0.1", 54321)


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    with LocalAws(Settings(tmp_path_factory.mktemp("aws"), injected={}, database=DATABASE, grace=1.0)) as running:
        yield running


@pytest.fixture
def post(aws: LocalAws) -> Iterator[Post]:
    made = open_post(aws.client("sqs"), visibility=VISIBILITY)
    yield made
    for url in (made.url, made.dead_letters):
        made.sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def effects(database: psycopg.Connection) -> psycopg.Connection:
    effects_in(database).execute(BEGUN)
    return database


class Worker(subprocess.Popen[str]):
    """A worker of the sample job."""

    def __init__(self, function: str, url: str, aws: LocalAws, base: str, lease: int = 30) -> None:
        variables = {**aws.environment, "SHIFTLOCK_QUEUES": base, "SHIFTLOCK_LEASE_SECONDS": str(lease)}
        super().__init__(
            [sys.executable, "-m", "tests.runtime.queues.worker_process", function],
            env=environment(url, **variables),
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def drained(self) -> Ended:
        """Tell it to stop and wait for its end."""
        self.send_signal(signal.SIGTERM)
        out, err = self.communicate(timeout=LONG)
        return Ended(self.returncode, out, err)

    def said(self, message: str) -> dict[str, Any]:
        """Wait for this line of its log."""
        assert self.stdout is not None
        for text in self.stdout:
            line: dict[str, Any] = json.loads(text)
            if line.get("message") == message:
                return line
        raise AssertionError(f"it ended without {message!r}: {self.communicate()}")


@pytest.fixture
def start(database_url: str, aws: LocalAws, post: Post) -> Iterator[Callable[..., Worker]]:
    """Starts workers, which all end with the test."""
    with ExitStack() as stack:

        def begin(function: str, lease: int = 30) -> Worker:
            worker = stack.enter_context(Worker(function, database_url, aws, post.base, lease))
            stack.callback(worker.kill)
            return worker

        yield begin


def begun(database: psycopg.Connection) -> None:
    assert list(database.notifies(timeout=LONG, stop_after=1))


def test_a_worker_takes_one_message_after_the_other_and_exits_with_0_when_told_to_stop(
    start: Callable[..., Worker], post: Post, effects: psycopg.Connection
) -> None:
    for number in range(3):
        post.send(f"photo-{number}")
    post.send("photo-3", fatal=True)
    worker = start("note")
    taken = [worker.said("started")["run_key"] for _ in range(4)]
    ended = worker.drained()
    assert (ended.code, ended.err) == (0, "")
    assert sorted(taken) == [f"photo-{number}" for number in range(4)]
    assert effects.execute(EFFECTS).fetchall() == [(f"photo-{number}", 1) for number in range(4)]
    assert [attributes["Reason"] for _, attributes in post.dead()] == [
        "the job raised Fatal: Fatal: the picture is broken"
    ]
    assert post.counts() == (0, 0)


def test_a_worker_told_to_stop_gives_its_message_back_at_once_and_takes_no_other(
    start: Callable[..., Worker], post: Post, effects: psycopg.Connection
) -> None:
    post.send("photo-1")
    worker = start("note_and_wait")
    begun(effects)
    post.send("photo-2")
    ended = worker.drained()
    assert (ended.code, ended.err) == (0, "")
    assert post.counts_come_to(2, 0), ended.logs
    assert effects.execute(STATES).fetchall() == [("photo-1", "pending", 1)]
    assert effects.execute("select infra_failures from shiftlock.job_runs").fetchone() == (1,)
    second = start("note")
    wait_until(effects, BOTH_HAVE_ENDED)  # which is told before it is recorded
    second.drained()
    assert effects.execute(ATTEMPTS).fetchall() == [(1, "interrupted"), (1, "succeeded"), (2, "succeeded")]
    assert effects.execute(EFFECTS).fetchall() == [("photo-1", 1), ("photo-2", 1)]
    assert post.counts() == (0, 0)


def test_the_message_of_a_worker_that_was_killed_comes_back_and_has_its_effect_once(
    start: Callable[..., Worker], post: Post, effects: psycopg.Connection
) -> None:
    post.send("photo-1")
    killed = start("note_and_wait", SHORT_LEASE)
    begun(effects)
    killed.kill()
    second = start("note_and_wait")
    begun(effects)
    assert second.drained().code == 0
    assert effects.execute(ATTEMPTS).fetchall() == [(1, "lost"), (2, "succeeded")]
    assert effects.execute(EFFECTS).fetchall() == [("photo-1", 1)]
    assert post.counts() == (0, 0)


def test_a_worker_that_froze_loses_its_message_and_finds_its_run_done_when_it_thaws(
    start: Callable[..., Worker], post: Post, effects: psycopg.Connection
) -> None:
    post.send("photo-1")
    frozen = start("note_and_wait", SHORT_LEASE)
    begun(effects)
    frozen.send_signal(signal.SIGSTOP)
    second = start("note_and_wait")
    begun(effects)
    second.said("succeeded")
    frozen.send_signal(signal.SIGCONT)
    frozen.said("fenced: nothing was recorded")
    assert (frozen.drained().code, second.drained().code) == (0, 0)
    assert effects.execute(ATTEMPTS).fetchall() == [(1, "fenced"), (2, "succeeded")]
    assert effects.execute(EFFECTS).fetchall() == [("photo-1", 1)]
    assert post.counts() == (0, 0)


def test_a_message_is_hidden_for_as_long_as_its_run_goes_on(
    start: Callable[..., Worker], database_url: str, post: Post, effects: psycopg.Connection
) -> None:
    post.send("photo-1")
    with psycopg.connect(database_url, autocommit=True) as gate:
        gate.execute("select pg_advisory_lock(77)")
        worker = start("open_gate")
        begun(effects)
        deadline = time.monotonic() + VISIBILITY + 0.5
        while time.monotonic() < deadline:
            assert post.sqs.receive_message(QueueUrl=post.url, WaitTimeSeconds=1).get("Messages") is None
        gate.execute("select pg_advisory_unlock(77)")
    worker.said("succeeded")
    assert worker.drained().code == 0
    assert effects.execute(ATTEMPTS).fetchall() == [(1, "succeeded")]
    assert post.counts() == (0, 0)


def test_a_worker_whose_queue_is_not_there_yet_asks_again_and_does_not_spin(
    database_url: str, aws: LocalAws, effects: psycopg.Connection
) -> None:
    base = f"{aws.endpoint}/{aws.account}/later-"
    with Worker("note", database_url, aws, base) as worker:
        try:
            lines = [worker.said("no message could be asked for") for _ in range(2)]
            assert "NonExistentQueue" in lines[0]["because"]
            first, second = (datetime.strptime(line["timestamp"], "%Y-%m-%d %H:%M:%S,%f%z") for line in lines)
            assert second - first >= timedelta(seconds=0.5)
            url = aws.client("sqs").create_queue(QueueName="later-sample")["QueueUrl"]
            Post(aws.client("sqs"), base, url, url).send("photo-1")
            worker.said("succeeded")
            assert worker.drained().code == 0
        finally:
            worker.kill()
    assert effects.execute(EFFECTS).fetchall() == [("photo-1", 1)]


def test_a_worker_waits_longer_each_time_that_it_asks_in_vain_and_never_for_nothing() -> None:
    assert [pause(tries, 0.0) for tries in (1, 2, 3, 100)] == [0.5, 1.0, 2.0, LONGEST_PAUSE / 2]
    assert [pause(tries, 1.0) for tries in (1, 2, 3, 100)] == [1.0, 2.0, 4.0, LONGEST_PAUSE]


@pytest.mark.parametrize(
    ("arguments", "variables", "error"),
    [
        (["simple"], {}, "worker_entry: unknown job 'simple': did you mean sample?"),
        ([], {}, "worker_entry: unknown job '': known are sample"),
        (["sample"], {"SHIFTLOCK_DATABASE_URL": ""}, "worker_entry: bad settings: SHIFTLOCK_DATABASE_HOST is not set"),
        (["sample"], {"SHIFTLOCK_QUEUES": ""}, "worker_entry: bad settings: SHIFTLOCK_QUEUES is not set"),
    ],
)
def test_a_worker_that_is_not_set_up_says_so_in_one_line_and_exits_with_2(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    variables: dict[str, str],
    error: str,
) -> None:
    monkeypatch.setattr(worker_entry, "SCHEDULE", declare(queued()))
    given = environment(NOWHERE, SHIFTLOCK_QUEUES="http://127.0.0.1:1/0/test-")
    assert worker_entry.main(arguments, given | variables) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(error)


def test_a_worker_of_a_job_without_a_queue_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_entry, "SCHEDULE", declare(sample("succeed")))
    given = environment(NOWHERE, SHIFTLOCK_QUEUES="http://127.0.0.1:1/0/test-")
    assert worker_entry.main(["sample"], given) == 2
    expected = "worker_entry: sample has no queue: give it queue=Queue(...) in the job table\n"
    assert capsys.readouterr().err == expected
