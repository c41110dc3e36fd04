"""Whole runs through a transaction pooler end as they do over a direct connection."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.process import BaseProcess

import psycopg
import pytest

from handlers.guard.intervene import cancel
from handlers.runtime import runner
from handlers.runtime.report import Result
from handlers.runtime.stop import Stop
from tests.guard.holders import ask
from tests.runtime.running import FORK, run, sample

LEASE = timedelta(seconds=1.8)  # a beat may be 1.2 s late on a busy machine
WARNING = "the database is behind a transaction pooler"
ATTEMPTS = "select outcome from shiftlock.job_attempts order by attempt"
EFFECTS = "select count(*), count(distinct name), max(attempt) from effect"
LEFT = """
select count(*) from pg_locks join pg_database on pg_database.oid = pg_locks.database
where locktype = 'advisory' and datname = current_database()
"""
TELL_BEATS = """
create function beat() returns trigger language plpgsql as $$ begin notify beat; return null; end $$;
create trigger beat after update of lease_until on shiftlock.job_runs for each row
when (old.status = 'running' and new.status = 'running') execute function beat();
"""


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(runner, "_SAID_POOLED", [])


@pytest.fixture(autouse=True)
def effects(tcp_database: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A table for the effects of jobs; no run leaves a session lock behind in the pool."""
    tcp_database.execute("create table effect (name text not null, attempt integer not null)")
    yield tcp_database
    assert ask(tcp_database, LEFT) == 0


@contextmanager
def holder(url: str, database: psycopg.Connection) -> Iterator[BaseProcess]:
    """A process that works on the tick until it is told to stop."""

    def body() -> None:
        stop = Stop()
        signal.signal(signal.SIGTERM, lambda *_: stop.request())
        os._exit(run(sample("wait_until_told_to_stop"), url, stop=stop, lease=LEASE).exit_code)

    database.execute("listen begun")
    process = FORK.Process(target=body)
    process.start()
    try:
        assert list(database.notifies(timeout=60, stop_after=1))
        yield process
    finally:
        process.kill()
        process.join()


def test_the_log_says_once_per_process_that_there_is_a_pooler(
    pooled_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    for partition in ("north", "south"):
        assert run(sample("succeed"), pooled_url, partition=partition).result is Result.SUCCEEDED
    assert [record.levelname for record in caplog.records if WARNING in record.message] == ["WARNING"]


def test_the_log_says_nothing_of_it_over_a_direct_connection(tcp_url: str, caplog: pytest.LogCaptureFixture) -> None:
    run(sample("succeed"), tcp_url)
    assert caplog.records
    assert WARNING not in caplog.text


@pytest.mark.parametrize(
    ("function", "result", "outcomes"),
    [
        ("succeed", Result.SUCCEEDED, ["succeeded"]),
        ("fail_twice", Result.SUCCEEDED, ["failed", "failed", "succeeded"]),
        ("fail", Result.FAILED, ["failed", "failed", "failed"]),
        ("be_taken_over_within_a_step", Result.FENCED, ["fenced"]),
    ],
)
def test_a_run_ends_as_over_a_direct_connection(
    pooled_url: str, effects: psycopg.Connection, function: str, result: Result, outcomes: list[str]
) -> None:
    assert run(sample(function), pooled_url).result is result
    assert [outcome for (outcome,) in effects.execute(ATTEMPTS)] == outcomes
    assert effects.execute(EFFECTS).fetchone() == (0, 0, None)


def test_a_statement_that_takes_too_long_is_cancelled_through_the_pooler(pooled_url: str) -> None:
    assert run(sample("sleep_in_the_database"), pooled_url, seconds_left=0.5).result is Result.TIMED_OUT


@pytest.mark.parametrize(
    ("function", "count"), [("two_steps_and_a_failure_between", 2), ("a_thousand_items_cut_at_600", 1000)]
)
def test_effects_happen_once_though_the_run_takes_two_attempts(
    pooled_url: str, effects: psycopg.Connection, function: str, count: int
) -> None:
    report = run(sample(function), pooled_url)
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 2)
    assert effects.execute(EFFECTS).fetchone() == (count, count, 2)


def test_heartbeats_keep_a_run_for_many_leases(pooled_url: str, effects: psycopg.Connection) -> None:
    effects.execute(TELL_BEATS)
    with holder(pooled_url, effects) as process:
        effects.execute("listen beat")
        assert len(list(effects.notifies(timeout=60, stop_after=7))) == 7  # three beats are a lease
        assert run(sample("succeed"), pooled_url, lease=LEASE).result is Result.BUSY
        process.terminate()
        process.join(60)
        assert process.exitcode == 143
    assert effects.execute(ATTEMPTS).fetchall() == [("interrupted",)]


def test_the_run_of_a_killed_holder_is_taken_over_at_the_end_of_its_lease(
    pooled_url: str, effects: psycopg.Connection
) -> None:
    with holder(pooled_url, effects) as process:
        process.kill()
        process.join(60)
        report = run(sample("succeed", on_duplicate="wait"), pooled_url, lease=LEASE)
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 2)
    assert effects.execute(ATTEMPTS).fetchall() == [("lost",), ("succeeded",)]


def test_a_cancelled_run_stops_with_the_next_heartbeat(pooled_url: str, effects: psycopg.Connection) -> None:
    with holder(pooled_url, effects) as process:
        cancel(effects, int(str(ask(effects, "select id from shiftlock.job_runs"))), "not needed")
        process.join(60)
        assert process.exitcode == 20
    assert effects.execute(ATTEMPTS).fetchall() == [("cancelled",)]
