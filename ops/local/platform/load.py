"""`load`: give a database the data of the restaurant platform, or the days it lacks."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import LiteralString, Protocol

import psycopg

from ops.local.platform.restaurants import Dataset, Restaurant, make_restaurants
from ops.local.platform.workers import load_days

SEED = "riyadh"
DAYS = 60
RESTAURANTS = 200
ORDERS_PER_DAY = 17_500
PROCESSES = 2

FOLDER = Path(__file__).parent
# The form with two numbers has a space of its own, apart from the job locks, which are one 64-bit number.
ONE_LOADER_AT_A_TIME = "select pg_advisory_lock(1886151028, 1)"
ALREADY_THERE = "select to_regclass('platform.dataset') is not null"
READ_DATASET = "select seed, restaurants, orders_per_day from platform.dataset"
WRITE_DATASET = "insert into platform.dataset (seed, restaurants, orders_per_day) values (%s, %s, %s)"
COPY_RESTAURANTS = """
    copy platform.restaurants (id, name, city, zone, currency, vat_rate, plan, plan_fee_minor, commission_rate,
                               opens, closes, opened_on, closed_on) from stdin"""
COPY_STOCK = "copy platform.stock (id, restaurant_id, name, price_minor, on_hand, reorder_at) from stdin"
LOADED = "select day from platform.loaded_days where day between %s and %s"
NOT_INDEXED = "select indexed_at is null from platform.dataset"
# Sorting in memory: the default of 64 MB would put the keys of order_items on disk.
MORE_MEMORY_FOR_SORTING = "set local maintenance_work_mem = '256MB'"
WRITE_INDEXED = "update platform.dataset set indexed_at = now()"
ANALYZE = """
    analyze platform.restaurants, platform.stock, platform.orders, platform.order_items, platform.sessions"""


class OtherDataset(ValueError):
    """The database holds the data of other numbers; the message says which and what to do."""

    def __init__(self, there: Dataset, wanted: Dataset) -> None:
        self.there, self.wanted = there, wanted
        super().__init__(
            f"schema platform holds {there}, asked for is {wanted}: ask for the same, or drop the schema and load again"
        )


class OnProgress(Protocol):
    """Told what was reached: step is "restaurants", "days" or "indexes"."""

    def __call__(self, step: str, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one call of `load` added: the days, oldest first, and whether it built the indexes."""

    days: tuple[date, ...]
    indexes: bool


def _say_nothing(step: str, done: int, total: int) -> None:
    pass


def load(
    connection_url: str,
    last_day: date,
    *,
    days: int = DAYS,
    restaurants: int = RESTAURANTS,
    orders_per_day: int = ORDERS_PER_DAY,
    seed: str = SEED,
    processes: int = PROCESSES,
    on_progress: OnProgress = _say_nothing,
) -> Loaded:
    """Make the `days` days up to and with last_day be there; days that are there stay as they are.

    Safe to break off and to call again or twice at once.
    Raises OtherDataset when the database holds data of another seed or size, LoadFailed, psycopg.Error.
    """
    dataset = Dataset(seed, restaurants, orders_per_day)
    wanted = [last_day - timedelta(days=ago) for ago in reversed(range(days))]
    with psycopg.connect(connection_url, autocommit=True) as connection:
        connection.execute(ONE_LOADER_AT_A_TIME)
        on_progress("restaurants", 0, restaurants)
        _begin(connection, dataset)
        on_progress("restaurants", restaurants, restaurants)
        there = {day for (day,) in connection.execute(LOADED, (wanted[0], wanted[-1]))} if wanted else set()
        missing = tuple(day for day in wanted if day not in there)
        with closing(load_days(connection_url, dataset, missing, processes=processes)) as loaded:
            for done, _ in enumerate(loaded, start=1):
                on_progress("days", done, len(missing))
        indexes = _index(connection, on_progress)
        if missing:
            connection.execute(ANALYZE)
    return Loaded(missing, indexes)


def _begin(connection: psycopg.Connection, dataset: Dataset) -> None:
    with connection.transaction():
        if _true(connection, ALREADY_THERE):
            row = connection.execute(READ_DATASET).fetchone()
            if row is not None and (there := Dataset(*row)) != dataset:
                raise OtherDataset(there, dataset)
            return
        connection.execute((FOLDER / "schema.sql").read_bytes())
        connection.execute(WRITE_DATASET, (dataset.seed, dataset.restaurants, dataset.orders_per_day))
        every = make_restaurants(dataset)
        with connection.cursor() as cursor:
            with cursor.copy(COPY_RESTAURANTS) as copy:
                for restaurant in every:
                    copy.write_row(_restaurant_row(restaurant))
            with cursor.copy(COPY_STOCK) as copy:
                for restaurant in every:
                    for item in restaurant.menu:
                        copy.write_row(
                            (item.id, restaurant.id, item.name, item.price_minor, item.on_hand, item.reorder_at)
                        )


def _restaurant_row(restaurant: Restaurant) -> Sequence[object]:
    city, plan = restaurant.city, restaurant.plan
    return (
        restaurant.id,
        restaurant.name,
        city.name,
        city.zone,
        city.currency,
        f"{city.vat_basis_points / 10_000:.4f}",
        plan.name,
        round(plan.fee_minor * city.price_level),
        f"{plan.commission_basis_points / 10_000:.4f}",
        restaurant.opens,
        restaurant.closes,
        restaurant.opened_on,
        restaurant.closed_on,
    )


def _index(connection: psycopg.Connection, on_progress: OnProgress) -> bool:
    """Build keys and indexes unless an earlier load did."""
    if not _true(connection, NOT_INDEXED):
        return False
    on_progress("indexes", 0, 1)
    with connection.transaction():
        connection.execute(MORE_MEMORY_FOR_SORTING)
        connection.execute((FOLDER / "indexes.sql").read_bytes())
        connection.execute(WRITE_INDEXED)
    on_progress("indexes", 1, 1)
    return True


def _true(connection: psycopg.Connection, question: LiteralString) -> bool:
    row = connection.execute(question).fetchone()
    return row is not None and bool(row[0])
