"""Deliveries that meet a run that goes on: they wait for it, take its place, run after it, or end it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg

from handlers.guard.intervene import cancel
from handlers.runtime.report import Result
from tests.runtime.running import FORK, TICK, run, sample

LEASE = timedelta(seconds=3)
DAY_BEFORE = TICK - timedelta(days=1)
ENDS = "select run_key, status, attempt from shiftlock.job_runs where attempt > 0 order by id"
RUN_ID = "select id from shiftlock.job_runs where status = 'running'"


@contextmanager
def going_on(url: str, database: psycopg.Connection, **limits: Any) -> Iterator[Any]:
    """A process that works on the first tick until it is told to go on, or to stop."""

    def body() -> None:
        os._exit(run(sample("wait_for_the_word", **limits), url, at=DAY_BEFORE, lease=LEASE).exit_code)

    database.execute("listen begun")
    process = FORK.Process(target=body)
    process.start()
    try:
        assert list(database.notifies(timeout=30, stop_after=1))
        yield process
        process.join(30)
    finally:
        process.kill()
        process.join()


def give_the_word(database: psycopg.Connection) -> None:
    database.execute("select pg_advisory_unlock(1234, 1)")


def hold_the_word(database: psycopg.Connection) -> None:
    database.execute("select pg_advisory_lock(1234, 1)")


def test_with_wait_a_duplicate_gets_the_result_of_the_first(database_url: str, database: psycopg.Connection) -> None:
    hold_the_word(database)
    with going_on(database_url, database):
        give_the_word(database)
        report = run(sample("wait_for_the_word", on_duplicate="wait"), database_url, at=DAY_BEFORE, lease=LEASE)
    assert (report.result, report.value) == (Result.ALREADY_DONE, {"attempt": 1})


def test_with_skip_a_duplicate_ends_at_once(database_url: str, database: psycopg.Connection) -> None:
    hold_the_word(database)
    with going_on(database_url, database) as process:
        assert run(sample("succeed"), database_url, at=DAY_BEFORE, lease=LEASE).result is Result.BUSY
        give_the_word(database)
    assert process.exitcode == 0


def test_with_replace_the_run_that_goes_on_is_cancelled_for_the_newer_one(
    database_url: str, database: psycopg.Connection
) -> None:
    hold_the_word(database)
    with going_on(database_url, database, overlap="replace") as process:
        report = run(sample("succeed", overlap="replace"), database_url, at=TICK, lease=LEASE)
    assert report.result is Result.SUCCEEDED
    assert process.exitcode == 20
    assert database.execute(ENDS).fetchall() == [
        ("2026-11-28T02:00Z", "cancelled", 1),
        ("2026-11-29T02:00Z", "succeeded", 1),
    ]


def test_with_queue_the_process_that_ends_goes_on_with_the_run_that_waits(
    database_url: str, database: psycopg.Connection
) -> None:
    hold_the_word(database)
    with going_on(database_url, database, overlap="queue") as process:
        report = run(sample("succeed", overlap="queue"), database_url, at=TICK, lease=LEASE)
        assert report.result is Result.QUEUED
        give_the_word(database)
    assert process.exitcode == 0
    assert database.execute(ENDS).fetchall() == [
        ("2026-11-28T02:00Z", "succeeded", 1),
        ("2026-11-29T02:00Z", "succeeded", 1),
    ]


def test_a_cancelled_run_stops_within_a_heartbeat_and_ends_cancelled(
    database_url: str, database: psycopg.Connection
) -> None:
    hold_the_word(database)
    with going_on(database_url, database) as process:
        row = database.execute(RUN_ID).fetchone()
        assert row is not None
        cancel(database, row[0], "not needed")
    assert process.exitcode == 20
    attempts = database.execute("select outcome, error from shiftlock.job_attempts").fetchall()
    assert attempts == [("cancelled", "Interruption: not needed")]


def test_partitions_of_one_tick_are_runs_of_their_own(database_url: str, database: psycopg.Connection) -> None:
    for partition in ("north", "south", "north"):
        run(sample("succeed"), database_url, partition=partition)
    assert database.execute(ENDS).fetchall() == [
        ("2026-11-29T02:00Z/north", "succeeded", 1),
        ("2026-11-29T02:00Z/south", "succeeded", 1),
    ]
