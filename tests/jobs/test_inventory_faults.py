"""Pulls of stock under each failure of the POS: nothing is skipped, nothing counts twice."""

from datetime import timedelta
from typing import LiteralString

import psycopg
import pytest

from handlers.runtime.report import Result
from handlers.runtime.stop import Stop
from ops.local.pos.faults import Fault
from ops.local.pos.server import PosServer
from tests.jobs.fixture_types import FailOnce
from tests.jobs.inventory import asked, cursors, different, pull, restaurant_items
from tests.pos.clock import Clock

BUSY = 1  # it is counted by the minute, and has more than one page
SYNC = "select cursor, etag, changes, synced_at from platform.pos_sync where restaurant_id = %s"
STEPS = """
select attempt, count(*) from shiftlock.run_steps join shiftlock.job_attempts using (run_id, fence)
group by attempt order by attempt
"""


def test_a_page_that_cannot_be_used_costs_the_attempt_and_the_next_one_goes_on_at_that_page(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    server.faults.set([Fault("body", body='{"restaurant": 1, "changes": 7}', after=1)])
    report = pull(database_url, "run", {"restaurant": BUSY})
    first, second, *rest = cursors(server, BUSY)
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 2)
    assert [after for after, _ in asked(server)] == [first, second, second, *rest]
    assert different(database, server, BUSY) == []


@pytest.mark.parametrize(("table", "condition"), [("pos_sync", "new.changes > 10"), ("stock", "new.id % 10 = 7")])
def test_a_crash_within_a_page_stores_neither_its_counts_nor_its_cursor_and_no_change_counts_twice(
    database_url: str,
    database: psycopg.Connection,
    server: PosServer,
    fail_once: FailOnce,
    table: LiteralString,
    condition: LiteralString,
) -> None:
    fail_once(table, "update", condition)
    report = pull(database_url, "run", {"restaurant": BUSY})
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 2)
    assert different(database, server, BUSY) == []
    every, pages = len(server.changes(BUSY)), len(cursors(server, BUSY))
    [(_, _, changes, _)] = database.execute(SYNC, [BUSY]).fetchall()
    assert changes == every
    assert sum(steps for _, steps in database.execute(STEPS).fetchall()) == pages
    assert len(server.requests) == pages + 1


def test_a_short_retry_after_is_waited_for_and_a_cut_answer_asked_for_again_within_the_attempt(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    waits: list[float] = []

    class Waiting(Stop):
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return False

    server.faults.set([Fault("status", status=429, headers={"Retry-After": "7"}), Fault("truncated", after=1)])
    report = pull(database_url, "run", {"restaurant": BUSY}, stop=Waiting())
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 1)
    assert [round(wait) for wait in waits] == [7, 0]
    assert different(database, server, BUSY) == []


def test_a_long_retry_after_ends_the_attempt_and_leaves_the_wait_to_the_ledger(
    database_url: str, server: PosServer
) -> None:
    server.faults.set([Fault("status", status=429, headers={"Retry-After": "3600"})])
    report = pull(database_url, "run", {"restaurant": BUSY})
    assert (report.result, report.attempt, report.retry_in) == (Result.RETRY_LATER, 1, timedelta(hours=1))
    assert report.error is not None
    assert report.error.endswith(
        "429 Too Many Requests; it wants 3600 s without requests, and a run waits 10 s at most"
    )
    assert len(server.requests) == 1


def test_a_wait_for_the_pos_ends_when_the_job_is_told_to_stop(
    database_url: str, clock: Clock, server: PosServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Stop()

    class Stopping(PosServer):
        def note(self, restaurant: int, after: str | None, etag: str | None, status: int | None) -> None:
            super().note(restaurant, after, etag, status)
            stop.request()

    faults = [Fault("status", status=429, headers={"Retry-After": "9"})]
    with Stopping(restaurant_items(), clock=clock, faults=faults) as other, other.serving():
        monkeypatch.setenv("SHIFTLOCK_POS_URL", other.url)
        report = pull(database_url, "run", {"restaurant": BUSY}, stop=stop)
        assert (report.result, len(other.requests)) == (Result.INTERRUPTED, 1)


def test_a_refusal_fails_the_run_at_once_with_one_line(database_url: str, server: PosServer) -> None:
    for status in (401, 403, 404):
        server.faults.set([Fault("status", status=status, times=9)])
        server.requests.clear()
        report = pull(database_url, f"refused with {status}", {"restaurant": BUSY})
        assert (report.result, report.attempt, asked(server)) == (Result.FAILED, 1, [(None, status)])
        assert report.error is not None
        assert f"stock of restaurant 1: {status} " in report.error
        assert "\n" not in report.error


def test_a_payload_that_names_no_restaurant_fails_at_once_and_asks_nobody(database_url: str, server: PosServer) -> None:
    for given, told in (
        (None, "payload.restaurant is None: allowed is the id of a restaurant"),
        ("1", "payload.restaurant is '1'"),
        (True, "payload.restaurant is True"),
        (2**31, "payload.restaurant is 2147483648"),
        (999, "restaurant 999 is not in platform.restaurants"),
    ):
        report = pull(database_url, f"run of {given!r}", {"restaurant": given})
        assert (report.result, report.attempt, asked(server)) == (Result.FAILED, 1, [])
        assert report.error is not None
        assert told in report.error


def test_a_missing_address_fails_at_once_and_says_which_variable(
    database_url: str, server: PosServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHIFTLOCK_POS_URL")
    report = pull(database_url, "run", {"restaurant": BUSY})
    assert (report.result, report.attempt) == (Result.FAILED, 1)
    assert report.error is not None
    assert "SHIFTLOCK_POS_URL is not set" in report.error
