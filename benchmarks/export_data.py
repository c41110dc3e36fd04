"""A platform with any number of orders in one week, made by the database itself within seconds."""

from pathlib import Path

import psycopg

SCHEMA = Path(__file__).parents[1] / "ops" / "local" / "platform" / "schema.sql"

# The week before 30 November 2026, of three currencies with 2 and 3 digits.
FILL = """
insert into platform.restaurants
select i, 'Restaurant ' || i, 'Riyadh', 'Asia/Riyadh', (array['SAR', 'KWD', 'GBP'])[1 + i % 3], 0.15, 'growth', 100,
       0.1, '09:00', '23:00', '2020-01-01', null
from generate_series(1, 200) as i;
insert into platform.stock
select i, 1 + i % 200, case when i % 2 = 0 then 'Item ' else 'Dish, "special" ' end || i, 100, 1, 1
from generate_series(1, 1000) as i
"""
FILL_ORDERS = """
insert into platform.orders (id, restaurant_id, status, placed_at, delivered_at, cancelled_at, refunded_at,
                             subtotal_minor, discount_minor, vat_minor, tip_minor, refunded_minor)
select i, 1 + hash %% 200, case i %% 20 when 0 then 'cancelled' when 1 then 'refunded' else 'delivered' end, placed,
       case when i %% 20 <> 0 then placed + interval '31.5 min' end,
       case when i %% 20 = 0 then placed + interval '5 min' end,
       case when i %% 20 = 1 then placed + interval '2 hours' end,
       1000 + hash %% 9000, hash %% 100, 150 + hash %% 1000, hash %% 700,
       case when i %% 20 = 1 then 10 + hash %% 90 else 0 end
from (
    select i, timestamptz '2026-11-23 00:00+00' + i * (interval '6 days 23 hours' / %(orders)s) as placed,
           hashint8(i) & 65535 as hash
    from generate_series(1, %(orders)s) as i
) as made
"""
FILL_ITEMS = """
insert into platform.order_items
select 1 + i / 2, 1 + i %% 2, 1 + (hashint8(i) & 511), 1 + i %% 3, 500 + (hashint8(i) & 1023)
from generate_series(0, 2 * %(orders)s - 1) as i
"""
KEYS = """
alter table platform.orders add primary key (id);
alter table platform.order_items add primary key (order_id, line);
analyze platform.orders, platform.order_items
"""


def fill(url: str, orders: int) -> None:
    """Make the platform with so many orders of two items each in the week before 30 November 2026."""
    with psycopg.connect(url) as connection:
        connection.execute(SCHEMA.read_bytes())
        connection.execute(FILL)
        connection.execute(FILL_ORDERS, {"orders": orders})
        connection.execute(FILL_ITEMS, {"orders": orders})
        connection.execute(KEYS)
