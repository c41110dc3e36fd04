"""Have the stock of every restaurant brought up to what its POS counts: one run of inventory-pull for each.

The restaurants are those that are customers, by their own calendar, at the tick. The run is over when all its children
are, and has failed when more than one in twenty has: a POS that lets one restaurant down is no fault of the sync.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handlers.runtime.context import Context

MAY_FAIL = 0.05

CUSTOMERS = """
select id from platform.restaurants
cross join lateral (select (%(tick)s at time zone zone)::date as day) as today
where opened_on <= day and (closed_on is null or closed_on > day)
order by id
"""


def run(context: Context) -> Mapping[str, object]:
    """Send out the children and wait for them; say of how many restaurants."""
    restaurants = [id for (id,) in context.connection.execute(CUSTOMERS, {"tick": context.tick})]
    context.fan_out(
        "inventory-pull",
        restaurants,
        key=_part,
        payload=lambda restaurant: {"restaurant": restaurant},
        partition=_part,
        wait=True,
        may_fail=MAY_FAIL,
    )
    return {"restaurants": len(restaurants)}


def _part(restaurant: int) -> str:
    return f"restaurant-{restaurant}"
