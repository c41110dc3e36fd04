"""What the ledger is told of messages: parking loses nothing of a run, and what says no run leaves one that failed."""

from datetime import timedelta

import psycopg
import pytest

from handlers.guard.lock import lock_key, register
from handlers.guard.outbox import NewRun
from handlers.guard.park import expect_message, park, refuse
from handlers.guard.ring import ring_next
from tests.guard.holders import ask, claimed, guard_on, request

JOB = "resize"
ROW = """
select run_key, partition, lock_key, tick, trigger, payload, status, attempt, message_until,
       next_run <= clock_timestamp()
from shiftlock.job_runs
"""
MESSAGE_IN = "select extract(epoch from message_until - clock_timestamp())::float8 from shiftlock.job_runs"
RUNG = "update shiftlock.job_runs set message_until = clock_timestamp() + interval '4 days'"
WAIT = timedelta(minutes=2)
WITHIN = timedelta(minutes=10)


@pytest.mark.parametrize(
    ("partition", "owner"), [(None, "resize photo-1"), ("r7", "resize/r7")], ids=["apart", "by partition"]
)
def test_a_parked_message_leaves_its_run_due_and_without_a_message(
    every_database: psycopg.Connection, partition: str | None, owner: str
) -> None:
    run_id = park(every_database, JOB, NewRun("photo-1", {"width": 100}, partition))
    row = ("photo-1", partition, lock_key(owner), None, "queue", {"width": 100}, "pending", 0, None, True)
    assert every_database.execute(ROW).fetchall() == [row]
    assert ask(every_database, "select id from shiftlock.job_runs") == run_id


def test_a_run_that_is_there_loses_its_message_and_nothing_else(every_database: psycopg.Connection) -> None:
    first = park(every_database, JOB, NewRun("photo-1", {"width": 100}))
    every_database.execute(RUNG)
    every_database.execute("update shiftlock.job_runs set attempt = 2, next_run = 'infinity'")
    assert park(every_database, JOB, NewRun("photo-1", {"width": 200})) == first
    row = ("photo-1", None, lock_key("resize photo-1"), None, "queue", {"width": 100}, "pending", 2, None, False)
    assert every_database.execute(ROW).fetchall() == [row]


def test_a_parked_run_is_rung_for_once_its_partition_is_free_and_can_be_claimed(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    run_id = park(every_database, JOB, NewRun("photo-1", {"width": 100}, "r7"))
    assert ring_next(every_database, lock_key("resize/r7"), {JOB: timedelta(days=4)}) == {run_id}
    assert ask(every_database, "select count(*) from shiftlock.outbox") == 1
    with guard_on(every_server_url) as guard:
        wanted = request("photo-1", job=JOB, tick=None, trigger="queue", payload={"width": 100}, partition="r7")
        assert claimed(guard, wanted).run_id == run_id


def test_a_message_is_expected_until_its_run_should_have_started(every_database: psycopg.Connection) -> None:
    park(every_database, JOB, NewRun("photo-1"))
    assert expect_message(every_database, JOB, "photo-1", wait=WAIT, start_within=WITHIN)
    left = ask(every_database, MESSAGE_IN)
    assert isinstance(left, float)
    assert 11 * 60 < left <= 12 * 60


def test_a_message_that_comes_before_its_run_is_due_is_expected_until_then(every_database: psycopg.Connection) -> None:
    park(every_database, JOB, NewRun("photo-1"))
    every_database.execute("update shiftlock.job_runs set next_run = clock_timestamp() + interval '1 hour'")
    assert expect_message(every_database, JOB, "photo-1", wait=WAIT, start_within=WITHIN)
    left = ask(every_database, MESSAGE_IN)
    assert isinstance(left, float)
    assert 69 * 60 < left <= 70 * 60


def test_for_a_run_that_does_not_wait_no_message_is_expected(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        claimed(guard, request("photo-1", job=JOB, tick=None, trigger="queue"))
        assert not expect_message(every_database, JOB, "photo-1", wait=WAIT, start_within=WITHIN)
    assert ask(every_database, "select message_until from shiftlock.job_runs") is None


def test_a_message_that_says_no_run_is_a_failed_run_with_its_reason_however_often_it_comes(
    every_database: psycopg.Connection,
) -> None:
    register(every_database, [JOB])
    first = refuse(every_database, JOB, "0a1b", "malformed message: it is no JSON")
    assert refuse(every_database, JOB, "0a1b", "malformed message: something else") == first
    rows = every_database.execute(
        "select id, run_key, trigger, status, error_msg, attempt, finished_at is not null from shiftlock.job_runs"
    )
    reason = "malformed message: it is no JSON"
    assert rows.fetchall() == [(first, "message:0a1b", "queue", "failed", reason, 0, True)]


def test_a_job_that_the_ledger_does_not_know_is_registered_on_the_way(every_database: psycopg.Connection) -> None:
    refuse(every_database, JOB, "0a1b", "malformed message: it is no JSON")
    assert ask(every_database, "select name from shiftlock.jobs") == JOB
