"""Write the daily report of every restaurant: orders, revenue, basket, top item, busiest hour, refunds, sessions.

The day is the last one that had ended in the restaurant's own zone at the tick. A report that is there is replaced, so
a second run brings it up to date with orders that were still under way at the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

    from handlers.runtime.context import Context

BATCH = 20  # restaurants per transaction

RESTAURANTS = "select id from platform.restaurants order by id"

# A day's end is the next one's beginning by the same expression, so the days tile also where clocks change at midnight.
# Sessions are deleted a week after their end: a report made again later keeps the number it was first given.
REPORT = """
with period as (
    select id, zone, opened_on <= day and (closed_on is null or closed_on > day) as customer,
           day, day::timestamp at time zone zone as since, (day + 1)::timestamp at time zone zone as until
    from platform.restaurants
    cross join lateral (select (%(tick)s at time zone zone)::date - 1 as day) as ended
    where id = %(restaurant)s
)
insert into platform.daily_reports as report (
    restaurant_id, day, orders, cancelled_share, revenue_minor, average_basket_minor,
    refunds_minor, top_item_id, busiest_hour, sessions
)
select period.id, period.day, placed.orders,
       coalesce(round(placed.cancelled / nullif(placed.orders, 0)::numeric, 4), 0),
       placed.revenue, coalesce(round(placed.revenue / nullif(placed.delivered, 0)), 0),
       refunded.minor, best.item_id, busiest.hour, visits.started
from period
cross join lateral (
    select count(*) as orders, count(cancelled_at) as cancelled, count(delivered_at) as delivered,
           coalesce(sum(net_minor) filter (where delivered_at is not null), 0) as revenue
    from platform.orders
    where restaurant_id = period.id and placed_at >= period.since and placed_at < period.until
) as placed
cross join lateral (
    select coalesce(sum(refunded_minor), 0) as minor from platform.orders
    where restaurant_id = period.id and refunded_at >= period.since and refunded_at < period.until
) as refunded
left join lateral (
    select item_id from platform.orders join platform.order_items on order_id = id
    where restaurant_id = period.id and placed_at >= period.since and placed_at < period.until
      and delivered_at is not null
    group by item_id order by sum(quantity) desc, item_id limit 1
) as best on true
left join lateral (
    select extract(hour from placed_at at time zone period.zone) as hour from platform.orders
    where restaurant_id = period.id and placed_at >= period.since and placed_at < period.until
    group by hour order by count(*) desc, hour limit 1
) as busiest on true
cross join lateral (
    select count(*) as started from platform.sessions
    where restaurant_id = period.id and started_at >= period.since and started_at < period.until
) as visits
where customer or placed.orders > 0 or refunded.minor > 0
on conflict (restaurant_id, day) do update set
    orders = excluded.orders, cancelled_share = excluded.cancelled_share, revenue_minor = excluded.revenue_minor,
    average_basket_minor = excluded.average_basket_minor, refunds_minor = excluded.refunds_minor,
    top_item_id = excluded.top_item_id, busiest_hour = excluded.busiest_hour,
    sessions = greatest(report.sessions, excluded.sessions)
"""

TOTALS = """
select day, count(*), sum(orders)::bigint
from platform.daily_reports join platform.restaurants on id = restaurant_id
where day = (%(tick)s at time zone zone)::date - 1
group by day order by day
"""


def run(context: Context) -> Mapping[str, object]:
    """Write or replace the reports; say which days they are of, how many there are, and the orders in them."""
    restaurants = [id for (id,) in context.connection.execute(RESTAURANTS)]

    def report(tx: psycopg.Connection, restaurant: int) -> None:
        tx.execute(REPORT, {"tick": context.tick, "restaurant": restaurant})

    context.each(restaurants, report, key=lambda restaurant: f"report:{restaurant}", batch=BATCH)
    totals = context.connection.execute(TOTALS, {"tick": context.tick}).fetchall()
    return {
        "days": [day.isoformat() for day, _, _ in totals],
        "reports": sum(reports for _, reports, _ in totals),
        "orders": sum(orders for _, _, orders in totals),
    }
