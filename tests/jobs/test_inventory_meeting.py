"""Pulls that meet another one of the same restaurant, or a POS that takes back what it said."""

from collections.abc import Mapping
from threading import Barrier, Thread

import httpx
import psycopg
import pytest

from handlers.guard.errors import Fenced
from handlers.jobs.inventory_pull import Ask
from handlers.jobs.inventory_pull import pull as pull_stock
from handlers.pos.client import Pos
from handlers.pos.errors import CursorExpired
from handlers.pos.page import StockPage
from ops.local.pos.faults import Fault
from ops.local.pos.server import PosServer
from tests.jobs.inventory import asked, claimed, cursors, different
from tests.pos.clock import Clock

BUSY = 1  # it is counted by the minute, and has more than one page
STOCK = "select id, on_hand from platform.stock where restaurant_id <> %s order by id"
SYNC = "select cursor, etag, changes, synced_at from platform.pos_sync where restaurant_id = %s"
TAKE_OVER = "update shiftlock.job_runs set fence = nextval('shiftlock.fence') where run_key = %s"


def asking(pos: Pos, restaurant: int) -> Ask:
    return lambda after, etag: pos.stock(restaurant, after=after, etag=etag)


def test_a_pos_that_forgets_every_cursor_is_not_read_for_ever(database_url: str, server: PosServer) -> None:
    server.faults.set([Fault("status", status=410, after=1), Fault("status", status=410, after=2)])
    with (
        claimed(database_url, "run") as context,
        Pos(httpx.URL(server.url)) as pos,
        pytest.raises(CursorExpired),
    ):
        pull_stock(context, BUSY, asking(pos, BUSY))
    first, second, *_ = cursors(server, BUSY)
    assert asked(server) == [(first, 200), (second, 410), (first, 200), (second, 410)]


def test_an_answer_that_another_pull_was_faster_with_is_thrown_away(
    database_url: str, database: psycopg.Connection, server: PosServer, clock: Clock
) -> None:
    with (
        claimed(database_url, "slow") as slow,
        claimed(database_url, "fast") as fast,
        Pos(httpx.URL(server.url)) as pos,
    ):
        ask = asking(pos, BUSY)
        overtaken: list[Mapping[str, object]] = []

        def overtaken_once(after: str | None, etag: str | None) -> StockPage | None:
            page = ask(after, etag)
            if not overtaken:
                clock.now += 300
                overtaken.append(pull_stock(fast, BUSY, ask))
            return page

        late = pull_stock(slow, BUSY, overtaken_once)
    assert [result["changes"] for result in overtaken] == [len(server.changes(BUSY))]
    assert late["changes"] == 0
    assert different(database, server, BUSY) == []
    assert database.execute("select changes from platform.pos_sync").fetchall() == [(len(server.changes(BUSY)),)]


def test_pulls_of_one_restaurant_side_by_side_take_each_change_over_once(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    together = Barrier(3)
    taken: list[object] = []

    def one(key: str) -> None:
        with claimed(database_url, key) as context, Pos(httpx.URL(server.url)) as pos:
            together.wait()
            taken.append(pull_stock(context, BUSY, asking(pos, BUSY))["changes"])

    threads = [Thread(target=one, args=(f"run {number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = len(server.changes(BUSY))
    assert sum(int(str(number)) for number in taken) == every
    assert database.execute("select changes from platform.pos_sync").fetchall() == [(every,)]
    assert different(database, server, BUSY) == []


def test_a_run_that_was_taken_over_stores_nothing_of_what_it_was_answered(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    stock = database.execute(STOCK, [0]).fetchall()
    with claimed(database_url, "run") as context, Pos(httpx.URL(server.url)) as pos:

        def taken_over(after: str | None, etag: str | None) -> StockPage | None:
            page = pos.stock(BUSY, after=after, etag=etag)
            database.execute(TAKE_OVER, ["run"])
            return page

        with pytest.raises(Fenced):
            pull_stock(context, BUSY, taken_over)
    assert database.execute(STOCK, [0]).fetchall() == stock
    assert database.execute(SYNC, [BUSY]).fetchall() == [(None, None, 0, None)]
