"""The made-up platform: the same bytes every time, added to day by day, and lifelike enough to compute with."""

import os
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from hashlib import sha256
from multiprocessing import active_children

import psycopg
import pytest

from ops.local.platform.begin import OtherDataset
from ops.local.platform.days import make_day
from ops.local.platform.load import SEED, Loaded, OnProgress, load
from ops.local.platform.restaurants import Dataset, make_restaurants
from ops.local.platform.workers import LoadFailed

LAST = date(2026, 11, 28)
DATASET = Dataset(SEED, 12, 200)
PRINT_CHECKSUM = """
from datetime import date
from tests.local.test_platform_data import checksum_of_day
print(checksum_of_day(date(2026, 11, 28)))
"""
CHECKSUM = """
select (select md5(string_agg(r::text, ',' order by id)) from platform.restaurants r),
       (select md5(string_agg(s::text, ',' order by id)) from platform.stock s),
       (select md5(string_agg(o::text, ',' order by id)) from platform.orders o),
       (select md5(string_agg(i::text, ',' order by order_id, line)) from platform.order_items i),
       (select md5(string_agg(s::text, ',' order by id)) from platform.sessions s)
"""
CONSTRAINTS = """
select contype::text, count(*) from pg_constraint where conrelid = any(array[
    'platform.orders', 'platform.order_items', 'platform.sessions']::regclass[]) and contype in ('p', 'f')
group by contype order by contype
"""


def checksum_of_day(day: date) -> str:
    made = make_day(DATASET, make_restaurants(DATASET), day)
    return sha256("".join(made.orders + made.items + made.sessions).encode()).hexdigest()


def ignore(step: str, done: int, total: int) -> None:
    """Take no notice of progress."""


def load_small(url: str, last_day: date, *, days: int, processes: int = 1, on_progress: OnProgress = ignore) -> Loaded:
    return load(
        url, last_day, days=days, restaurants=12, orders_per_day=200, processes=processes, on_progress=on_progress
    )


def checksums(database: psycopg.Connection) -> tuple[str, ...]:
    [row] = database.execute(CHECKSUM).fetchall()
    assert None not in row
    return row


def test_a_day_is_the_same_bytes_in_another_process() -> None:
    other = subprocess.run(
        [sys.executable, "-c", PRINT_CHECKSUM],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path), "TZ": "Asia/Tokyo"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == checksum_of_day(LAST)


def test_another_seed_gives_other_orders() -> None:
    other = Dataset("other", 12, 200)
    assert (
        make_day(other, make_restaurants(other), LAST).orders
        != make_day(DATASET, make_restaurants(DATASET), LAST).orders
    )


def test_days_that_are_added_later_are_those_of_one_load(database_url: str, database: psycopg.Connection) -> None:
    load_small(database_url, LAST, days=5)
    at_once = checksums(database)
    database.execute("drop schema platform cascade")
    load_small(database_url, LAST - timedelta(days=2), days=3)
    assert load_small(database_url, LAST, days=5).days == (LAST - timedelta(days=1), LAST)
    assert checksums(database) == at_once


def test_several_processes_load_what_one_does(database_url: str, database: psycopg.Connection) -> None:
    load_small(database_url, LAST, days=9)
    by_one = checksums(database)
    database.execute("drop schema platform cascade")
    load_small(database_url, LAST, days=9, processes=2)
    assert checksums(database) == by_one
    assert active_children() == []


def test_what_is_there_is_not_loaded_again(database_url: str, database: psycopg.Connection) -> None:
    load_small(database_url, LAST, days=3)
    before = checksums(database)
    again = load_small(database_url, LAST, days=3)
    assert (again.days, again.indexes) == ((), False)
    assert checksums(database) == before


def test_two_loads_at_once_store_each_day_once(database_url: str, database: psycopg.Connection) -> None:
    with ThreadPoolExecutor(2) as pool:
        loads = list(pool.map(lambda _: load_small(database_url, LAST, days=3), range(2)))
    assert sorted(len(loaded.days) for loaded in loads) == [0, 3]
    assert database.execute("select count(*) from platform.loaded_days").fetchone() == (3,)


def test_a_load_that_was_broken_off_goes_on_where_it_was(database_url: str, database: psycopg.Connection) -> None:
    def give_up(step: str, done: int, total: int) -> None:
        if (step, done) == ("days", 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_small(database_url, LAST, days=4, on_progress=give_up)
    assert database.execute(CONSTRAINTS).fetchall() == []
    assert load_small(database_url, LAST, days=4).days == (LAST - timedelta(days=1), LAST)
    assert database.execute(CONSTRAINTS).fetchall() == [("f", 4), ("p", 3)]
    after = checksums(database)
    database.execute("drop schema platform cascade")
    load_small(database_url, LAST, days=4)
    assert checksums(database) == after


def test_the_death_of_a_loading_process_is_an_error_and_costs_no_stored_day(
    database_url: str, database: psycopg.Connection
) -> None:
    def kill_one(step: str, done: int, total: int) -> None:
        if (step, done) == ("days", 2):
            victim = active_children()[0].pid
            assert victim is not None
            os.kill(victim, signal.SIGKILL)

    with pytest.raises(LoadFailed, match="start again to go on"):
        load_small(database_url, LAST, days=30, processes=2, on_progress=kill_one)
    assert active_children() == []
    [(stored,)] = database.execute("select count(*) from platform.loaded_days").fetchall()
    assert len(load_small(database_url, LAST, days=30).days) == 30 - stored


def test_data_of_other_numbers_is_refused_and_left_alone(database_url: str, database: psycopg.Connection) -> None:
    load_small(database_url, LAST, days=1)
    before = checksums(database)
    with pytest.raises(OtherDataset, match=r"orders_per_day=200.*orders_per_day=300.*drop the schema"):
        load(database_url, LAST, days=2, restaurants=12, orders_per_day=300)
    assert checksums(database) == before


def test_progress_reaches_the_total_of_each_step(database_url: str) -> None:
    told: list[tuple[str, int, int]] = []
    load_small(database_url, LAST, days=3, on_progress=lambda *fact: told.append(fact))
    assert {step: (done, total) for step, done, total in told} == {
        "restaurants": (12, 12),
        "days": (3, 3),
        "indexes": (1, 1),
    }


@pytest.fixture
def fortnight(database_url: str, database: psycopg.Connection) -> psycopg.Connection:
    """A connection to two weeks of 40 restaurants."""
    load(database_url, LAST, days=14, restaurants=40, orders_per_day=800, processes=1)
    return database


def test_the_sums_of_an_order_are_those_of_its_items(fortnight: psycopg.Connection) -> None:
    wrong = fortnight.execute("""
        select o.id from platform.orders o join platform.restaurants r on r.id = restaurant_id
        join lateral (select count(*) as lines, sum(quantity * price_minor) as subtotal
                      from platform.order_items where order_id = o.id) as items on true
        where lines not between 2 and 3 or items.subtotal <> subtotal_minor
           or vat_minor <> round((subtotal_minor - discount_minor) * vat_rate)
    """)
    assert wrong.fetchall() == []


def test_items_are_from_the_menu_of_the_restaurant_at_its_price(fortnight: psycopg.Connection) -> None:
    foreign = fortnight.execute("""
        select 1 from platform.orders o join platform.order_items i on order_id = o.id
        join platform.stock s on s.id = item_id
        where s.restaurant_id <> o.restaurant_id or s.price_minor <> i.price_minor
    """)
    assert foreign.fetchall() == []


def test_orders_come_while_the_restaurant_is_open(fortnight: psycopg.Connection) -> None:
    outside = fortnight.execute("""
        select o.id from platform.orders o join platform.restaurants r on r.id = restaurant_id,
        lateral (select (placed_at at time zone zone)::time as at) as local
        where case when opens < closes then at < opens or at >= closes
                   when opens > closes then at < opens and at >= closes else false end
           or (placed_at at time zone zone)::date < opened_on
    """)
    assert outside.fetchall() == []


def test_weekends_and_dinners_are_busy(fortnight: psycopg.Connection) -> None:
    rows = fortnight.execute("""
        select extract(isodow from local)::int, extract(hour from local)::int
        from platform.orders join platform.restaurants r on r.id = restaurant_id,
        lateral (select placed_at at time zone zone as local) as clock
        where zone = 'Asia/Riyadh'
    """).fetchall()
    days, hours = Counter(day for day, _ in rows), Counter(hour for _, hour in rows)
    assert days[5] > 1.1 * days[1]
    assert hours[20] > 1.2 * hours[13] > 1.5 * hours[16]


def test_orders_end_in_the_shares_that_were_asked_for(fortnight: psycopg.Connection) -> None:
    [(cancelled, refunded, discounted, tipped)] = fortnight.execute("""
        select avg((status = 'cancelled')::int), avg((status = 'refunded')::int), avg((discount_minor > 0)::int),
               avg((tip_minor > 0)::int) from platform.orders
    """).fetchall()
    assert float(cancelled) == pytest.approx(0.05, abs=0.01)
    assert float(refunded) == pytest.approx(0.02, abs=0.01)
    assert float(discounted) == pytest.approx(0.12, abs=0.02)
    assert float(tipped) == pytest.approx(0.1425, abs=0.02)


def test_customers_of_several_currencies_and_plans_and_some_who_left(fortnight: psycopg.Connection) -> None:
    [(currencies, plans, left)] = fortnight.execute(
        "select count(distinct currency), count(distinct plan), count(closed_on) from platform.restaurants"
    ).fetchall()
    assert (currencies >= 3, plans >= 2, left >= 1) == (True, True, True)
