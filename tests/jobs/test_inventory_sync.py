"""One child for each restaurant, each child done once, and one answer for all of them."""

from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest

from handlers.runtime.identity import Delivery
from handlers.runtime.report import Report, Result
from ops.local.pos.faults import Fault
from ops.local.pos.server import PosServer
from tests.jobs.inventory import RESTAURANTS, counting, different, start

AT = datetime(2026, 11, 28, 23, 10, tzinfo=UTC)
PARENT = "select status, result, error_msg from shiftlock.job_runs where run_key = '2026-11-28T23:10Z'"
CHILDREN = """
select id, run_key, partition, payload, status from shiftlock.job_runs where job_name = 'inventory-pull' order by id
"""


@pytest.fixture
def server(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PosServer]:
    """The POS of the restaurants on this test's database, all of them customers."""
    with counting(database_url, monkeypatch.setenv) as server:
        with psycopg.connect(database_url, autocommit=True) as database:
            database.execute("update platform.restaurants set closed_on = null")
        yield server


def sync(url: str) -> Report:
    return start(url, "inventory-sync", Delivery("rule", AT))


def pull_all(url: str, database: psycopg.Connection) -> list[Report]:
    return [
        start(url, "inventory-pull", Delivery("retry", None, run_id=id))
        for id, *_, status in database.execute(CHILDREN).fetchall()
        if status == "pending"
    ]


def test_each_restaurant_gets_a_child_of_its_own_and_the_run_waits_for_them(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    report = sync(database_url)
    assert report.status == "running"
    assert [row[1:] for row in database.execute(CHILDREN)] == [
        (
            f"inventory-sync/2026-11-28T23:10Z/restaurant-{number}",
            f"restaurant-{number}",
            {"restaurant": number},
            "pending",
        )
        for number in range(1, RESTAURANTS + 1)
    ]
    assert database.execute(PARENT).fetchall() == [("running", {"restaurants": RESTAURANTS}, None)]


def test_the_last_child_ends_the_run_and_every_stock_is_what_the_pos_counts(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    sync(database_url)
    assert {report.result for report in pull_all(database_url, database)} == {Result.SUCCEEDED}
    assert different(database, server, *range(1, RESTAURANTS + 1)) == []
    counted = {"children": RESTAURANTS, "succeeded": RESTAURANTS, "failed": 0}
    assert database.execute(PARENT).fetchall() == [("succeeded", {"restaurants": RESTAURANTS, **counted}, None)]


def test_a_second_event_of_the_same_tick_sends_out_nobody_again(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    sync(database_url)
    before = database.execute(CHILDREN).fetchall()
    sync(database_url)
    assert database.execute(CHILDREN).fetchall() == before


def test_a_restaurant_that_the_pos_does_not_know_fails_alone_and_then_the_run(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    server.faults.set([Fault("status", status=404, restaurant=2)])
    sync(database_url)
    results = [report.result for report in pull_all(database_url, database)]
    assert results == [Result.SUCCEEDED, Result.FAILED, *[Result.SUCCEEDED] * (RESTAURANTS - 2)]
    assert different(database, server, *(each for each in range(1, RESTAURANTS + 1) if each != 2)) == []
    [(status, _, error)] = database.execute(PARENT).fetchall()
    assert (status, error) == ("failed", f"1 of {RESTAURANTS} children have not succeeded")


def test_only_customers_of_their_own_local_day_are_asked_about(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    database.execute("update platform.restaurants set zone = 'Asia/Riyadh'")  # where the 29th has begun
    database.execute("update platform.restaurants set zone = 'Europe/London' where id = 2")
    database.execute("update platform.restaurants set closed_on = '2026-11-29' where id in (1, 2)")
    database.execute("update platform.restaurants set opened_on = '2026-11-29' where id = 3")
    database.execute("update platform.restaurants set opened_on = '2026-11-30' where id = 4")
    sync(database_url)
    assert [payload["restaurant"] for *_, payload, _ in database.execute(CHILDREN)] == [2, 3, 5, 6]
