"""The first part of a load: the tables, and the restaurants with what they sell."""

from collections.abc import Sequence
from pathlib import Path

import psycopg

from ops.local.platform.restaurants import Dataset, Restaurant, make_restaurants

SCHEMA = Path(__file__).with_name("schema.sql")
ADDITIONS = Path(__file__).with_name("additions.sql")
ALREADY_THERE = "select to_regclass('platform.dataset') is not null"
READ_DATASET = "select seed, restaurants, orders_per_day from platform.dataset"
WRITE_DATASET = "insert into platform.dataset (seed, restaurants, orders_per_day) values (%s, %s, %s)"
COPY_RESTAURANTS = """
    copy platform.restaurants (id, name, city, zone, currency, vat_rate, plan, plan_fee_minor, commission_rate,
                               opens, closes, opened_on, closed_on) from stdin"""
COPY_STOCK = "copy platform.stock (id, restaurant_id, name, price_minor, on_hand, reorder_at) from stdin"


class OtherDataset(ValueError):
    """The database holds the data of other numbers; the message says which and what to do."""

    def __init__(self, there: Dataset, wanted: Dataset) -> None:
        self.there, self.wanted = there, wanted
        super().__init__(
            f"schema platform holds {there}, asked for is {wanted}: ask for the same, or drop the schema and load again"
        )


def begin(connection: psycopg.Connection, dataset: Dataset) -> None:
    """Create the tables and store restaurants and stock, unless they are there. Raises OtherDataset.

    Data of an earlier release gets the tables that have come since.
    """
    with connection.transaction():
        [(already_there,)] = connection.execute(ALREADY_THERE).fetchall()
        if already_there:
            [row] = connection.execute(READ_DATASET).fetchall()
            if (there := Dataset(*row)) != dataset:
                raise OtherDataset(there, dataset)
            connection.execute(ADDITIONS.read_bytes())
            return
        connection.execute(SCHEMA.read_bytes())
        connection.execute(ADDITIONS.read_bytes())
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
