"""Messages that cannot be worked on now: which are left to the ledger, which keep their place, which come back."""

import time
from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import psycopg
import pytest

from handlers.guard.lock import lock_key, register, register_key
from tests.runtime.queues.batches import HIDDEN, call, hidden_for, measured
from tests.runtime.queues.post import EFFECTS, NOWHERE, STATES, Post, queued


@pytest.mark.parametrize("overlap", ["skip", "allow"])  # of its ticks
def test_a_message_whose_partition_is_at_work_is_left_to_the_ledger(
    function_of: Callable[..., None], post: Post, effects: psycopg.Connection, overlap: str
) -> None:
    post.send("photo-1", "r7", width=1)
    post.send("photo-2", "r8")
    function_of(queued(overlap=overlap), post)
    running(effects)
    records = post.take()
    assert post.end(records, call(records)) == set()
    assert effects.execute(
        "select status, payload, message_until, trigger from shiftlock.job_runs where run_key = 'photo-1'"
    ).fetchall() == [("pending", {"width": 1}, None, "queue")]
    assert effects.execute(EFFECTS).fetchall() == [("photo-2", 1)]


def test_in_a_fifo_queue_such_a_message_keeps_its_place(
    function_of: Callable[..., None], ordered: Post, effects: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, partition in (("photo-1", "r7"), ("photo-2", "r7"), ("photo-3", "r8")):
        ordered.send(key, partition)
    function_of(queued(fifo=True), ordered)
    running(effects)
    said = hidden_for(monkeypatch)
    records = ordered.take()
    assert ordered.end(records, call(records)) == {"photo-1", "photo-2"}
    assert said == {"photo-1": [15], "photo-2": [15]}
    assert effects.execute(EFFECTS).fetchall() == [("photo-3", 1)]


def running(database: psycopg.Connection) -> None:
    """Have another run of the partition r7 going on."""
    register(database, ["sample"])
    register_key(database, "sample/r7")
    database.execute(
        "insert into shiftlock.job_runs (job_name, run_key, partition, lock_key, trigger, status, fence, holder, "
        "lease_until) values ('sample', 'a-manual-one', 'r7', %s, 'manual', 'running', 1, 'somebody', "
        "clock_timestamp() + interval '1 hour')",
        (lock_key("sample/r7"),),
    )


def test_a_paused_job_leaves_its_messages_to_the_ledger(
    function_of: Callable[..., None], post: Post, effects: psycopg.Connection
) -> None:
    post.send("photo-1", "r7")
    function_of(queued(), post)
    running(effects)
    effects.execute("update shiftlock.jobs set paused_at = clock_timestamp()")
    records = post.take()
    assert post.end(records, call(records)) == set()
    assert effects.execute("select status from shiftlock.job_runs where run_key = 'photo-1'").fetchone() == ("pending",)
    assert post.counts() == (0, 0)


def test_a_fifo_group_that_fails_blocks_itself_alone_and_comes_back_as_one(
    function_of: Callable[..., None], ordered: Post, effects: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered.send("photo-1", "r7", fails=1)
    ordered.send("photo-2", "r8")
    ordered.send("photo-3", "r7")
    function_of(queued(fifo=True), ordered)
    said = hidden_for(monkeypatch)
    records = ordered.take()
    assert ordered.end(records, call(records)) == {"photo-1", "photo-3"}
    assert said == {"photo-1": [60], "photo-3": [60]}
    assert effects.execute(STATES).fetchall() == [("photo-1", "pending", 1), ("photo-2", "succeeded", 1)]


def test_in_a_fifo_queue_the_next_goes_on_after_a_dead_letter(
    function_of: Callable[..., None], ordered: Post, effects: psycopg.Connection
) -> None:
    ordered.send("photo-1", "r7", fatal=True)
    ordered.send("photo-2", "r7")
    function_of(queued(fifo=True), ordered)
    records = ordered.take()
    assert ordered.end(records, call(records)) == set()
    assert effects.execute(STATES).fetchall() == [("photo-1", "failed", 1), ("photo-2", "succeeded", 1)]
    assert [body for body, _ in ordered.dead()] == [records[0]["body"]]


def test_messages_that_the_time_does_not_suffice_for_come_back_at_once_without_a_run(
    function_of: Callable[..., None], post: Post, effects: psycopg.Connection
) -> None:
    for number in range(3):
        post.send(f"photo-{number}")
    function_of(queued(longest_run=timedelta(minutes=5)), post)
    records = post.take()
    back = post.end(records, call(records, seconds=120))
    assert len(back) == 2
    assert effects.execute("select count(*) from shiftlock.job_runs").fetchone() == (1,)
    assert post.counts() == (2, 0)


def test_a_run_is_ended_before_the_call_is(
    function_of: Callable[..., None], post: Post, effects: psycopg.Connection
) -> None:
    post.send("photo-1")
    function_of(queued("note_and_hang"), post)
    records = post.take()
    began = time.monotonic()
    assert post.end(records, call(records, seconds=10.4)) == {"photo-1"}
    assert time.monotonic() - began < 8
    assert effects.execute("select outcome from shiftlock.job_attempts").fetchall() == [("timed_out",)]


def test_without_the_ledger_all_come_back_soon_and_the_call_does_not_fail(
    function_of: Callable[..., None],
    post: Post,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    written: StringIO,
) -> None:
    for number in range(4):
        post.send(f"photo-{number}")
    function_of(queued(), post, NOWHERE)
    hidden: list[float] = []
    monkeypatch.setattr(HIDDEN, lambda _inbox, _received, wait: hidden.append(wait.total_seconds()))
    records = post.take()
    assert len(call(records)["batchItemFailures"]) == 4
    assert len(hidden) == 4
    assert all(5 < wait <= 15 for wait in hidden)
    assert measured(capsys, "StartFailed") == [[1, 1, 1, 1]]
    assert written.getvalue().count("the ledger cannot be asked") == 1
