"""What becomes of a run when its job succeeds, fails, hangs, is stopped or is taken over."""

import multiprocessing
import os
import signal
import time
from datetime import timedelta

import psycopg
import pytest

from handlers.declaration.duration import seconds
from handlers.declaration.policy import Retry
from handlers.guard.migrate import migrate
from handlers.runtime.report import Result
from handlers.runtime.stop import Stop
from ops.local.postgres import server
from tests.runtime.running import run, sample
from tests.runtime.sandbox import wait_until_holder_is_gone

ATTEMPTS = "select attempt, outcome from shiftlock.job_attempts order by attempt"
RUN = "select status, error_msg from shiftlock.job_runs where run_key = '2026-11-29T02:00Z'"
LOCKS = "select count(*) from pg_locks where locktype = 'advisory'"
# An idle session still shows its last statement.
SLEEPING = "select count(*) from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'"
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def effects(database: psycopg.Connection) -> psycopg.Connection:
    database.execute("create table effect (name text not null, attempt integer not null)")
    return database


def test_a_job_that_returns_has_succeeded_with_its_value(database_url: str, database: psycopg.Connection) -> None:
    report = run(sample("succeed"), database_url)
    assert (report.result, report.attempt, report.value) == (Result.SUCCEEDED, 1, {"attempt": 1})
    assert database.execute(ATTEMPTS).fetchall() == [(1, "succeeded")]


def test_a_second_delivery_gets_the_value_without_running(database_url: str, database: psycopg.Connection) -> None:
    run(sample("succeed"), database_url)
    report = run(sample("fail"), database_url)
    assert (report.result, report.value) == (Result.ALREADY_DONE, {"attempt": 1})
    assert database.execute(ATTEMPTS).fetchall() == [(1, "succeeded")]


def test_a_failing_job_is_tried_again_in_process_until_it_succeeds(
    database_url: str, database: psycopg.Connection
) -> None:
    report = run(sample("fail_twice"), database_url)
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 3)
    assert database.execute(ATTEMPTS).fetchall() == [(1, "failed"), (2, "failed"), (3, "succeeded")]


def test_a_job_that_fails_every_attempt_fails_with_its_own_error(
    database_url: str, database: psycopg.Connection
) -> None:
    report = run(sample("fail"), database_url)
    assert (report.result, report.attempt) == (Result.FAILED, 3)
    assert database.execute(RUN).fetchone() == ("failed", "ValueError: the order has no price")


def test_a_fatal_error_ends_the_run_at_its_first_attempt(database_url: str) -> None:
    report = run(sample("fail_for_good"), database_url)
    assert (report.result, report.attempt, report.error) == (Result.FAILED, 1, "Fatal: the tenant has gone")


def test_a_retry_too_long_to_wait_for_is_left_to_the_ledger(
    database_url: str, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.runtime.attempt.full_jitter", lambda: 1.0)
    patient = Retry(attempts=2, base=timedelta(hours=1), cap=timedelta(hours=1))
    report = run(sample("fail", retry=patient), database_url)
    assert report.result is Result.RETRY_LATER
    assert database.execute(RUN).fetchone() == ("pending", "ValueError: the order has no price")
    assert run(sample("succeed"), database_url).result is Result.NOT_DUE


@pytest.mark.parametrize(
    ("function", "error"),
    [("return_no_json", "TypeError"), ("exit_early", "SystemExit")],
)
def test_a_job_that_breaks_the_contract_has_failed(database_url: str, function: str, error: str) -> None:
    report = run(sample(function, retry=Retry(attempts=1)), database_url)
    assert report.result is Result.FAILED
    assert report.error is not None
    assert report.error.startswith(error)


@pytest.mark.parametrize("function", ["sleep_in_python", "sleep_in_the_database"])
def test_a_job_past_its_limit_times_out_and_its_lock_is_free_at_once(
    database_url: str, database: psycopg.Connection, function: str
) -> None:
    report = run(sample(function), database_url, seconds_left=0.3)
    assert report.result is Result.TIMED_OUT
    assert database.execute(ATTEMPTS).fetchall() == [(1, "timed_out")]
    assert database.execute(LOCKS).fetchone() == (0,)
    assert database.execute(SLEEPING).fetchone() == (0,)


def test_longest_run_is_the_limit_where_the_process_has_none(database_url: str) -> None:
    began = time.monotonic()
    report = run(sample("sleep_in_python", longest_run=seconds(1)), database_url)
    assert report.result is Result.TIMED_OUT
    assert 1 <= time.monotonic() - began < 5


def test_a_timed_out_run_on_hold_waits_for_a_person(database_url: str, database: psycopg.Connection) -> None:
    run(sample("sleep_in_python", on_lost="hold"), database_url, seconds_left=0.2)
    assert database.execute("select status from shiftlock.job_runs where attempt = 1").fetchone() == ("unknown",)
    assert run(sample("succeed", on_lost="hold"), database_url).result is Result.HELD


def exit_code(function: str, url: str) -> int:
    """Run the job in a process of its own, which it may end, with half a second to go."""

    def body() -> None:
        os._exit(run(sample(function), url, seconds_left=0.5).exit_code)

    process = FORK.Process(target=body)
    process.start()
    process.join(30)
    assert process.exitcode is not None
    return process.exitcode


def test_a_job_that_does_not_come_back_is_recorded_and_its_process_ended(
    database_url: str, database: psycopg.Connection
) -> None:
    assert exit_code("never_come_back", database_url) == 4
    assert database.execute(ATTEMPTS).fetchall() == [(1, "timed_out")]


def test_a_stopped_job_is_interrupted_uses_no_attempt_and_goes_on_later(
    database_url: str, database: psycopg.Connection
) -> None:
    def body() -> None:
        stop = Stop()
        signal.signal(signal.SIGTERM, lambda *_: stop.request())
        os._exit(run(sample("wait_until_told_to_stop"), database_url, stop=stop).exit_code)

    database.execute("listen begun")
    process = FORK.Process(target=body)
    process.start()
    assert list(database.notifies(timeout=30, stop_after=1))
    process.terminate()
    process.join(30)
    assert process.exitcode == 143
    assert database.execute(RUN).fetchone() is not None
    report = run(sample("succeed", retry=Retry(attempts=1)), database_url)
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 2)
    assert database.execute(ATTEMPTS).fetchall() == [(1, "interrupted"), (2, "succeeded")]


def test_a_job_that_ignores_the_request_to_stop_is_interrupted_after_its_time(database_url: str) -> None:
    stop = Stop()
    stop.request()
    began = time.monotonic()
    report = run(sample("sleep_in_python", stop_within=timedelta(seconds=0.2)), database_url, stop=stop)
    assert report.result is Result.INTERRUPTED
    assert time.monotonic() - began < 5


def test_the_jobs_own_error_is_reported_when_the_database_is_gone_too() -> None:
    with server(None, fast=True) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            migrate(connection)
        report = run(sample("kill_the_database_and_fail", retry=Retry(attempts=1)), url)
    assert (report.result, report.error) == (Result.FAILED, "ValueError: the order has no price")


def test_a_step_is_done_once_though_the_run_takes_two_attempts(database_url: str, effects: psycopg.Connection) -> None:
    assert run(sample("two_steps_and_a_failure_between"), database_url).attempt == 2
    assert effects.execute("select name, attempt from effect order by name").fetchall() == [("first", 1), ("second", 2)]


def test_each_goes_on_where_the_last_attempt_was_cut(database_url: str, effects: psycopg.Connection) -> None:
    report = run(sample("a_thousand_items_cut_at_600"), database_url)
    assert (report.attempt, report.value) == (2, {"done": 400})
    assert effects.execute("select count(*), count(distinct name) from effect").fetchone() == (1000, 1000)
    assert effects.execute("select min(name::int) from effect where attempt = 2").fetchone() == (600,)


def test_a_zombies_step_is_undone_and_its_attempt_ends_fenced(database_url: str, effects: psycopg.Connection) -> None:
    report = run(sample("be_taken_over_within_a_step"), database_url)
    assert report.result is Result.FENCED
    assert effects.execute("select count(*) from effect").fetchone() == (0,)
    assert effects.execute("select count(*) from shiftlock.run_steps").fetchone() == (0,)


def test_a_dead_holders_lease_is_waited_out_by_the_next_delivery(
    database_url: str, database: psycopg.Connection
) -> None:
    def body() -> None:
        run(sample("wait_until_told_to_stop"), database_url, lease=timedelta(seconds=1))

    database.execute("listen begun")
    process = FORK.Process(target=body)
    process.start()
    assert list(database.notifies(timeout=30, stop_after=1))
    process.kill()
    process.join(30)
    wait_until_holder_is_gone("sample", database)
    report = run(sample("succeed"), database_url, lease=timedelta(seconds=1))
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 2)
    assert database.execute(ATTEMPTS).fetchall() == [(1, "lost"), (2, "succeeded")]


def test_a_run_by_hand_has_no_tick_and_a_key_of_its_own(database_url: str) -> None:
    first, second = (run(sample("succeed"), database_url, at=None, trigger="manual") for _ in range(2))
    assert first.result is second.result is Result.SUCCEEDED
    assert first.run_key != second.run_key
