"""Starts that came to nothing: a row that says why, no attempt used up, and an end to it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import psycopg
import pytest

from handlers.guard.lock import lock_key, register
from handlers.guard.request import Ending
from handlers.guard.start_failure import FailedStart, attempts_before, enter_tick, run_of_key, start_failed
from tests.guard.holders import TICK, ask, claimed, guard_on, request

KEY = "2026-11-29T02:00Z"
TASK = "fargate:0a1b2c"
WHY = "never started, TaskFailedToStart: CannotPullContainerError: no such image"
WAITS = [timedelta(minutes=1), timedelta(minutes=2)]
RUN = "select status, attempt, infra_failures, error_msg, finished_at is not null from shiftlock.job_runs"
ATTEMPTS = "select attempt, outcome, compute, error from shiftlock.job_attempts order by attempt"
MINUTES_LEFT = "select ceil(extract(epoch from next_run - clock_timestamp()) / 60)::int from shiftlock.job_runs"
DUE = "update shiftlock.job_runs set next_run = clock_timestamp()"
NOW = "select clock_timestamp()"


@pytest.fixture
def run_id(every_database: psycopg.Connection) -> int:
    """The run of a tick that nobody has claimed."""
    register(every_database, ["nightly"])
    enter_tick(every_database, "nightly", run_key=KEY, tick=TICK, trigger="rule", partition=None)
    found = run_of_key(every_database, "nightly", KEY)
    assert found is not None
    return found


def failed(
    database: psycopg.Connection, run_id: int, attempts: int, *, job: str = "nightly", compute: str = TASK
) -> FailedStart | None:
    """What came of recording the failed start."""
    return start_failed(database, job, run_id, attempts=attempts, compute=compute, error=WHY, waits=WAITS)


def now(database: psycopg.Connection) -> datetime:
    """The database's time."""
    at = ask(database, NOW)
    assert isinstance(at, datetime)
    return at


def test_a_tick_gets_its_row_once(every_database: psycopg.Connection, run_id: int) -> None:
    enter_tick(every_database, "nightly", run_key=KEY, tick=TICK, trigger="schedule", partition=None)
    row = every_database.execute("select id, tick, trigger, status, next_run, lock_key from shiftlock.job_runs")
    assert row.fetchall() == [(run_id, TICK, "rule", "pending", TICK, lock_key("nightly"))]


def test_a_failed_start_is_an_attempt_with_its_reason_that_uses_up_none_and_waits_its_turn(
    every_server_url: str, every_database: psycopg.Connection, run_id: int
) -> None:
    assert failed(every_database, run_id, 0) == FailedStart("nightly", run_id, "pending")
    assert every_database.execute(RUN).fetchone() == ("pending", 1, 1, WHY, False)
    assert every_database.execute(ATTEMPTS).fetchall() == [(1, "start_failed", TASK, WHY)]
    assert ask(every_database, MINUTES_LEFT) == 1
    every_database.execute(DUE)
    with guard_on(every_server_url) as guard:
        answer = claimed(guard, request())
    assert (answer.attempt, answer.infra_failures) == (2, 1)


def test_each_wait_is_the_next_one_and_after_the_last_the_run_has_failed(
    every_database: psycopg.Connection, run_id: int
) -> None:
    waits = []
    for attempts in range(2):
        assert failed(every_database, run_id, attempts) == FailedStart("nightly", run_id, "pending")
        waits.append(ask(every_database, MINUTES_LEFT))
    assert waits == [1, 2]
    assert failed(every_database, run_id, 2) == FailedStart("nightly", run_id, "failed")
    assert every_database.execute(RUN).fetchone() == ("failed", 3, 3, WHY, True)
    assert failed(every_database, run_id, 3) is None


def test_the_same_start_told_twice_is_one_failure(every_database: psycopg.Connection, run_id: int) -> None:
    assert failed(every_database, run_id, 0) is not None
    assert failed(every_database, run_id, 0) is None
    assert every_database.execute(RUN).fetchone() == ("pending", 1, 1, WHY, False)


def test_of_two_who_tell_of_one_start_at_once_one_writes(
    every_server_url: str, every_database: psycopg.Connection, run_id: int
) -> None:
    together = Barrier(2)

    def one(_: int) -> FailedStart | None:
        with psycopg.connect(every_server_url, autocommit=True) as connection:
            attempts = attempts_before(connection, "nightly", run_id, compute=TASK, ordered_at=None)
            together.wait(60)
            assert attempts is not None
            return failed(connection, run_id, attempts)

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(one, range(2)))
    assert sorted(end is None for end in ends) == [False, True]
    assert every_database.execute(RUN).fetchone() == ("pending", 1, 1, WHY, False)


def test_a_run_that_has_been_claimed_or_has_ended_is_left_alone(
    every_server_url: str, every_database: psycopg.Connection, run_id: int
) -> None:
    with guard_on(every_server_url) as guard:
        mine = claimed(guard, request())
        assert attempts_before(every_database, "nightly", run_id, compute=TASK, ordered_at=None) is None
        assert failed(every_database, run_id, 1) is None
        guard.finish(mine, Ending(outcome="succeeded", status="succeeded"))
    assert failed(every_database, run_id, 1) is None
    assert every_database.execute(ATTEMPTS).fetchall() == [(1, "succeeded", "test", None)]


def test_a_run_of_another_job_is_left_alone(every_database: psycopg.Connection, run_id: int) -> None:
    assert attempts_before(every_database, "weekly", run_id, compute=TASK, ordered_at=None) is None
    assert failed(every_database, run_id, 0, job="weekly") is None
    assert every_database.execute(RUN).fetchone() == ("pending", 0, 0, None, False)


def test_what_has_been_an_attempt_of_the_run_is_no_failed_start_of_it(
    every_server_url: str, every_database: psycopg.Connection, run_id: int
) -> None:
    with guard_on(every_server_url) as guard:
        guard.finish(claimed(guard, request(compute=TASK)), Ending(outcome="failed", status="pending"))
    assert attempts_before(every_database, "nightly", run_id, compute=TASK, ordered_at=None) is None
    assert attempts_before(every_database, "nightly", run_id, compute="fargate:other", ordered_at=None) == 1


@pytest.mark.parametrize("ordered", ["before it began", "before it ended", "after it ended"])
def test_a_start_counts_only_if_it_was_ordered_after_the_last_attempt(
    every_server_url: str, every_database: psycopg.Connection, run_id: int, ordered: str
) -> None:
    times = {"before it began": now(every_database)}
    with guard_on(every_server_url) as guard:
        mine = claimed(guard, request())
        times["before it ended"] = now(every_database)
        guard.finish(mine, Ending(outcome="failed", status="pending"))
    times["after it ended"] = now(every_database)
    counted = attempts_before(every_database, "nightly", run_id, compute=TASK, ordered_at=times[ordered])
    assert counted == (1 if ordered == "after it ended" else None)


def test_a_second_task_for_the_same_start_adds_nothing_to_the_first_ones_failure(
    every_database: psycopg.Connection, run_id: int
) -> None:
    """A rule may fire twice; both tasks then meet what kept the first from starting."""
    ordered = now(every_database)
    assert failed(every_database, run_id, 0) is not None
    assert attempts_before(every_database, "nightly", run_id, compute="fargate:twin", ordered_at=ordered) is None
