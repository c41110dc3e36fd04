"""What is exported: two tables, their columns and the queries that give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

import pyarrow as pa  # type: ignore[import-untyped]

from handlers.jobs.export.money import MONEY

# Raise it when a column is added, taken away or means something else.
SCHEMA_VERSION = 1
TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True)
class Table:
    """A table. query: gives the columns in their order, money in whole minor units; totals: counts and adds it up.

    Both take `since` and `until`. `totals` gives per currency its name, the rows, and a sum for each column of money.
    Every table has a column `currency`, which says what its money is.
    """

    name: str
    columns: tuple[tuple[str, Any], ...]
    query: LiteralString
    totals: LiteralString

    @property
    def schema(self) -> Any:
        """The columns as Arrow has them; but for times of what has not happened, none is ever null."""
        return pa.schema([pa.field(name, kind, nullable=kind == TIME) for name, kind in self.columns])

    @property
    def money(self) -> tuple[str, ...]:
        """Names of the columns that hold amounts."""
        return tuple(name for name, kind in self.columns if kind == MONEY)


ORDERS = Table(
    "orders",
    (
        ("order_id", pa.int64()),
        ("restaurant_id", pa.int32()),
        ("currency", pa.string()),
        ("status", pa.string()),
        ("placed_at", TIME),
        ("delivered_at", TIME),
        ("cancelled_at", TIME),
        ("refunded_at", TIME),
        ("subtotal", MONEY),
        ("discount", MONEY),
        ("vat", MONEY),
        ("tip", MONEY),
        ("refunded", MONEY),
        ("net", MONEY),
        ("total", MONEY),
    ),
    query="""
select placed.id, restaurant_id, currency, status, placed_at, delivered_at, cancelled_at, refunded_at,
       subtotal_minor, discount_minor, vat_minor, tip_minor, refunded_minor, net_minor, total_minor
from platform.orders as placed join platform.restaurants as restaurant on restaurant.id = restaurant_id
where placed_at >= %(since)s and placed_at < %(until)s
order by placed.id
""",
    totals="""
select currency, count(*), sum(subtotal_minor), sum(discount_minor), sum(vat_minor), sum(tip_minor),
       sum(refunded_minor), sum(net_minor), sum(total_minor)
from platform.orders join platform.restaurants as restaurant on restaurant.id = restaurant_id
where placed_at >= %(since)s and placed_at < %(until)s
group by currency order by currency
""",
)

ORDER_ITEMS = Table(
    "order_items",
    (
        ("order_id", pa.int64()),
        ("line", pa.int16()),
        ("item_id", pa.int32()),
        ("item", pa.string()),
        ("currency", pa.string()),
        ("quantity", pa.int16()),
        ("price", MONEY),
        ("amount", MONEY),
    ),
    query="""
select order_id, line, item_id, item.name, currency, quantity, item_of.price_minor, quantity * item_of.price_minor
from platform.orders as placed
join platform.order_items as item_of on order_id = placed.id
join platform.stock as item on item.id = item_id
join platform.restaurants as restaurant on restaurant.id = placed.restaurant_id
where placed_at >= %(since)s and placed_at < %(until)s
order by order_id, line
""",
    totals="""
select currency, count(*), sum(price_minor), sum(quantity * price_minor)
from platform.orders as placed
join platform.order_items on order_id = placed.id
join platform.restaurants as restaurant on restaurant.id = restaurant_id
where placed_at >= %(since)s and placed_at < %(until)s
group by currency order by currency
""",
)

TABLES = (ORDERS, ORDER_ITEMS)
