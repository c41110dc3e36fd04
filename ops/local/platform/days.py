"""One day of the platform as text that COPY takes: orders with their items, and sessions.

A day follows from the dataset and its date alone, so days can be made in any order, by any process, and added later.
It holds what happens on that local day at each restaurant: a late kitchen's last orders lie after midnight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from random import Random

from ops.local.platform.opening import SLOT, open_seconds, opening_second, rush_hours, weekday_factor
from ops.local.platform.restaurants import Dataset, Restaurant, chance

COPY_ORDERS = """
    copy platform.orders (id, restaurant_id, status, placed_at, delivered_at, cancelled_at, refunded_at,
                          subtotal_minor, discount_minor, vat_minor, tip_minor, refunded_minor) from stdin"""
COPY_ITEMS = "copy platform.order_items (order_id, line, item_id, quantity, price_minor) from stdin"
COPY_SESSIONS = "copy platform.sessions (id, restaurant_id, device, started_at, ended_at) from stdin"

CANCELLED, REFUNDED, DISCOUNTED, TIPPED, BROWSED, LEFT_OPEN = 0.05, 0.02, 0.12, 0.15, 0.3, 0.002
QUANTITIES = (1, 1, 1, 1, 1, 1, 1, 2, 2, 3)
DISCOUNTS = (10, 10, 15, 20, 30)
NULL = r"\N"


@dataclass(frozen=True, slots=True)
class Day:
    """Rows of one day, one per string, each ending in a newline, in the columns of the COPY statements above."""

    day: date
    orders: list[str]
    items: list[str]
    sessions: list[str]


def make_day(dataset: Dataset, restaurants: Sequence[Restaurant], day: date) -> Day:
    """All rows of this day. Ids read as the day and a count: 20261129000001."""
    rng = chance(dataset.seed, "day", day)
    trading = [restaurant for restaurant in restaurants if restaurant.trades_on(day, dataset.seed)]
    made = Day(day, [], [], [])
    clock = _Clock(day)
    first_id = int(f"{day:%Y%m%d}") * 1_000_000
    for number, (second, place) in enumerate(_arrivals(dataset, restaurants, trading, day, rng), start=1):
        _add_order(made, clock, rng, trading[place], first_id + number, second)
        if rng.random() < BROWSED:
            ended = second + 30 + int(rng.random() * 1200)
            _add_session(made, clock, rng, trading[place], first_id, "guest", second - int(rng.random() * 600), ended)
    for restaurant in trading:
        opens = opening_second(restaurant, day)
        closes = opens + open_seconds(restaurant)
        for device in ("till", "kitchen"):
            _add_session(made, clock, rng, restaurant, first_id, device, opens - 900, closes + 900)
    return made


def _arrivals(
    dataset: Dataset, restaurants: Sequence[Restaurant], trading: Sequence[Restaurant], day: date, rng: Random
) -> list[tuple[int, int]]:
    """(second after the UTC day's beginning, place in `trading`) of each order, in the order of time."""
    average = dataset.orders_per_day / sum(
        restaurant.popularity for restaurant in restaurants if not restaurant.closed_on
    )
    arrivals: list[tuple[int, int]] = []
    for place, restaurant in enumerate(trading):
        expected = average * restaurant.popularity * weekday_factor(restaurant, day)
        opens, rush = opening_second(restaurant, day), rush_hours(restaurant)
        arrivals += [
            (opens + rush[int(rng.random() * len(rush))] + int(rng.random() * SLOT), place)
            for _ in range(round(expected * (0.8 + 0.4 * rng.random())))
        ]
    arrivals.sort()
    return arrivals


def _add_order(made: Day, clock: "_Clock", rng: Random, restaurant: Restaurant, order: int, placed: int) -> None:
    random = rng.random
    subtotal = 0
    for line in range(1, 3 if random() < 0.5 else 4):
        item = restaurant.menu[int(random() * random() * len(restaurant.menu))]
        quantity = QUANTITIES[int(random() * len(QUANTITIES))]
        subtotal += quantity * item.price_minor
        made.items.append(f"{order}\t{line}\t{item.id}\t{quantity}\t{item.price_minor}\n")
    discount = subtotal * DISCOUNTS[int(random() * len(DISCOUNTS))] // 100 if random() < DISCOUNTED else 0
    net = subtotal - discount
    vat = (net * restaurant.city.vat_basis_points + 5000) // 10_000
    tip = net // 10 if random() < TIPPED else 0
    status, delivered, cancelled, refunded, paid_back = "delivered", NULL, NULL, NULL, 0
    fate = random()
    if fate < CANCELLED:
        status, tip = "cancelled", 0
        cancelled = clock.text(placed + 60 + int(random() * 600))
    else:
        handed_over = placed + 900 + int(random() * 2700)
        delivered = clock.text(handed_over)
        if fate < CANCELLED + REFUNDED:
            status = "refunded"
            refunded = clock.text(handed_over + 1800 + int(random() * random() * 130_000))
            paid_back = net if random() < 0.7 else (net + 1) // 2
    made.orders.append(
        f"{order}\t{restaurant.id}\t{status}\t{clock.text(placed)}\t{delivered}\t{cancelled}\t{refunded}\t"
        f"{subtotal}\t{discount}\t{vat}\t{tip}\t{paid_back}\n"
    )


def _add_session(
    made: Day, clock: "_Clock", rng: Random, restaurant: Restaurant, first_id: int, device: str, began: int, ended: int
) -> None:
    end = NULL if rng.random() < LEFT_OPEN else clock.text(ended)
    number = first_id + len(made.sessions) + 1
    made.sessions.append(f"{number}\t{restaurant.id}\t{device}\t{clock.text(began)}\t{end}\n")


class _Clock:
    """Writes seconds after a day's beginning in UTC as a timestamp; strftime would take half of the whole load."""

    def __init__(self, day: date) -> None:
        self._dates = {offset: f"{day + timedelta(days=offset)} " for offset in range(-1, 5)}
        self._times = _times_of_day()

    def text(self, second: int) -> str:
        days, second = divmod(second, 86400)
        return self._dates[days] + self._times[second]


@cache
def _times_of_day() -> tuple[str, ...]:
    return tuple(f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}+00" for s in range(86400))
