"""The stock of one restaurant against what the POS counts, found another way."""

import psycopg

from handlers.runtime.report import Result
from ops.local.pos.faults import Fault
from ops.local.pos.server import PosServer
from tests.jobs.inventory import asked, cursors, different, pull, restaurant_items
from tests.pos.clock import Clock

BUSY, DAILY = 1, 3  # restaurants that are counted by the minute and once a day; both have more than one page
STOCK = "select id, on_hand from platform.stock where restaurant_id <> %s order by id"
SYNC = "select cursor, etag, changes, synced_at from platform.pos_sync where restaurant_id = %s"


def test_every_count_of_the_restaurant_is_taken_over_and_no_other_is_touched(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    others = database.execute(STOCK, [BUSY]).fetchall()
    assert different(database, server, BUSY) != []
    report = pull(database_url, "first", {"restaurant": BUSY})
    changes, pages = len(server.changes(BUSY)), len(cursors(server, BUSY))
    assert report.value == {"restaurant": BUSY, "pages": pages, "changes": changes, "unknown_items": 0}
    assert pages >= 2
    assert different(database, server, BUSY) == []
    assert database.execute(STOCK, [BUSY]).fetchall() == others
    assert asked(server) == [(cursor, 200) for cursor in cursors(server, BUSY)]


def test_the_next_pull_goes_on_where_the_last_one_left_off(
    database_url: str, database: psycopg.Connection, server: PosServer, clock: Clock
) -> None:
    pull(database_url, "first", {"restaurant": BUSY})
    before = len(server.changes(BUSY))
    [(cursor, *_)] = database.execute(SYNC, [BUSY]).fetchall()
    server.requests.clear()
    clock.now += 300
    later = [change for change in server.changes(BUSY) if change.sequence > int(cursor[1:], 16)]
    report = pull(database_url, "second", {"restaurant": BUSY})
    assert 0 < len(later) < before
    assert report.value["changes"] == len(later)
    assert asked(server)[0] == (cursor, 200)
    assert different(database, server, BUSY) == []


def test_a_pull_with_nothing_new_is_one_request_and_changes_nothing_but_the_time_of_the_sync(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    for key in ("first", "second"):
        pull(database_url, key, {"restaurant": DAILY})
    [(cursor, etag, changes, synced_at)] = database.execute(SYNC, [DAILY]).fetchall()
    stock = database.execute(STOCK, [0]).fetchall()
    server.requests.clear()
    report = pull(database_url, "third", {"restaurant": DAILY})
    assert report.value == {"restaurant": DAILY, "pages": 0, "changes": 0, "unknown_items": 0}
    assert asked(server) == [(cursor, 304)]
    [after] = database.execute(SYNC, [DAILY]).fetchall()
    assert after[:3] == (cursor, etag, changes)
    assert after[3] > synced_at
    assert database.execute(STOCK, [0]).fetchall() == stock


def test_an_etag_is_sent_with_the_request_that_it_came_from_and_with_no_other(
    database_url: str, server: PosServer
) -> None:
    for key in ("first", "second", "third"):
        pull(database_url, key, {"restaurant": DAILY})
    *_, after_the_first, after_the_second = server.requests
    assert after_the_first.after == after_the_second.after
    assert [request.etag for request in list(server.requests)[:-1]] == [None] * (len(server.requests) - 1)
    assert after_the_second.etag is not None


def test_a_forgotten_cursor_has_everything_read_from_the_beginning(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    pull(database_url, "first", {"restaurant": BUSY})
    database.execute("update platform.stock set on_hand = 1 where restaurant_id = %s", [BUSY])
    server.faults.set([Fault("status", status=410)])
    server.requests.clear()
    report = pull(database_url, "second", {"restaurant": BUSY})
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 1)
    assert [after for after, _ in asked(server)][1:] == cursors(server, BUSY)
    assert different(database, server, BUSY) == []


def test_items_that_the_platform_does_not_sell_there_are_counted_and_left_out(
    database_url: str, database: psycopg.Connection, server: PosServer
) -> None:
    others = database.execute(STOCK, [BUSY]).fetchall()
    server.items = {BUSY: [*restaurant_items()[BUSY], 201, 999_999]}
    report = pull(database_url, "run", {"restaurant": BUSY})
    assert report.value["unknown_items"] == 2
    assert database.execute(STOCK, [BUSY]).fetchall() == others
