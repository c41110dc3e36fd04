"""Invoice every restaurant for one day: its subscription and the commission on what it sold, less refunds, plus VAT.

The day is the last one that had ended in Riyadh, where the books are kept, at the tick: the run of 02:00 on the 29th
invoices the 28th, and still does when it starts late, is tried again or is caught up on days afterwards. An order
counts on the day it was delivered and a refund on the day it was paid. Later events change neither, so an invoice
that was issued is never written again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

    from handlers.runtime.context import Context

BOOKS_ZONE = "Asia/Riyadh"

PERIOD = """
select day, day::timestamp at time zone %(zone)s::text, (day + 1)::timestamp at time zone %(zone)s::text
from (select (%(tick)s at time zone %(zone)s::text)::date - 1 as day) as ended
"""

BATCH = 20  # restaurants per transaction

RESTAURANTS = "select id from platform.restaurants order by id"

# A restaurant that left pays no more fees, but orders of its last night and late refunds are still settled.
INVOICE = """
insert into platform.invoices (
    restaurant_id, day, currency, delivered_orders, sales_minor, refunds_minor,
    plan_fee_minor, commission_minor, vat_minor
)
select restaurant.id, %(day)s, restaurant.currency, sold.orders, sold.minor, refunded.minor,
       charge.fee, charge.commission, round((charge.fee + charge.commission) * restaurant.vat_rate)
from platform.restaurants as restaurant
cross join lateral (
    select count(*) as orders, coalesce(sum(net_minor), 0) as minor from platform.orders
    where restaurant_id = restaurant.id and delivered_at >= %(since)s and delivered_at < %(until)s
) as sold
cross join lateral (
    select coalesce(sum(refunded_minor), 0) as minor from platform.orders
    where restaurant_id = restaurant.id and refunded_at >= %(since)s and refunded_at < %(until)s
) as refunded
cross join lateral (
    select opened_on <= %(day)s and (closed_on is null or closed_on > %(day)s) as customer
) as subscription
cross join lateral (
    select case when customer then plan_fee_minor else 0 end as fee,
           round((sold.minor - refunded.minor) * commission_rate) as commission
) as charge
where restaurant.id = %(restaurant)s and (customer or sold.orders > 0 or refunded.minor > 0)
on conflict (restaurant_id, day) do nothing
"""

TOTALS = """
select currency, count(*), sum(total_minor)::bigint from platform.invoices
where day = %(day)s group by currency order by currency
"""


def run(context: Context) -> Mapping[str, object]:
    """Issue the invoices of the day that are not there yet; say how many the day has and their sums per currency."""
    [(day, since, until)] = context.connection.execute(PERIOD, {"tick": context.tick, "zone": BOOKS_ZONE}).fetchall()
    period = {"day": day, "since": since, "until": until}
    restaurants = [id for (id,) in context.connection.execute(RESTAURANTS)]

    def invoice(tx: psycopg.Connection, restaurant: int) -> None:
        tx.execute(INVOICE, {**period, "restaurant": restaurant})

    context.each(restaurants, invoice, key=lambda restaurant: f"invoice:{restaurant}", batch=BATCH)
    totals = context.connection.execute(TOTALS, period).fetchall()
    return {
        "day": day.isoformat(),
        "invoices": sum(count for _, count, _ in totals),
        "total_minor": {currency: minor for currency, _, minor in totals},
    }
