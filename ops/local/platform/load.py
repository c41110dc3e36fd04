"""`load`: give a database the data of the restaurant platform, or the days it lacks."""

from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Protocol

import psycopg

from ops.local.platform.begin import begin
from ops.local.platform.restaurants import Dataset
from ops.local.platform.workers import load_days

SEED = "riyadh"
DAYS = 60
RESTAURANTS = 200
ORDERS_PER_DAY = 17_500
PROCESSES = 2

INDEXES = Path(__file__).with_name("indexes.sql")
# The form with two numbers has a space of its own, apart from the job locks, which are one 64-bit number.
ONE_LOADER_AT_A_TIME = "select pg_advisory_lock(1886151028, 1)"
LOADED = "select day from platform.loaded_days where day between %s and %s"
INDEXED = "select indexed_at is not null from platform.dataset"
# Sorting in memory: the default of 64 MB would put the keys of order_items on disk.
MORE_MEMORY_FOR_SORTING = "set local maintenance_work_mem = '256MB'"
WRITE_INDEXED = "update platform.dataset set indexed_at = now()"
ANALYZE = """
    analyze platform.restaurants, platform.stock, platform.orders, platform.order_items, platform.sessions"""


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
        begin(connection, dataset)
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


def _index(connection: psycopg.Connection, on_progress: OnProgress) -> bool:
    """Build keys and indexes unless an earlier load did."""
    [(indexed,)] = connection.execute(INDEXED).fetchall()
    if indexed:
        return False
    on_progress("indexes", 0, 1)
    with connection.transaction():
        connection.execute(MORE_MEMORY_FOR_SORTING)
        connection.execute(INDEXES.read_bytes())
        connection.execute(WRITE_INDEXED)
    on_progress("indexes", 1, 1)
    return True
