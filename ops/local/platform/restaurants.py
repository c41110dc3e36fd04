"""The restaurants of the made-up platform: where they are, what they pay, when they open and what they sell."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from random import Random
from typing import TypeVar

from ops.local.platform.markets import CITIES, DISHES, HOURS, KINDS, PLANS, STYLES, City, Plan

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dataset:
    """What all rows follow from, together with their day; the same three values give the same bytes.

    orders_per_day: of all restaurants together on an average day of the week, if none had a day off.
    """

    seed: str
    restaurants: int
    orders_per_day: int


def chance(*parts: object) -> Random:
    """Random numbers that follow from these parts alone."""
    return Random("/".join(map(str, parts)))  # noqa: S311  # nothing is kept secret with it


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A dish and its price in minor units without VAT; the earlier in a menu, the more often ordered."""

    id: int
    name: str
    price_minor: int
    on_hand: int
    reorder_at: int


@dataclass(frozen=True, slots=True)
class Restaurant:
    """A customer. popularity is relative to the others; day_off is a weekday (Monday is 0) or None."""

    id: int
    name: str
    city: City
    plan: Plan
    opens: time
    closes: time
    day_off: int | None
    opened_on: date
    closed_on: date | None
    popularity: float
    menu: tuple[MenuItem, ...]

    def trades_on(self, day: date, seed: str) -> bool:
        """Whether it opens on this local day: not on its day off, and about one week in a hundred not at all."""
        if day < self.opened_on or (self.closed_on is not None and day >= self.closed_on):
            return False
        year, week, _ = day.isocalendar()
        return day.weekday() != self.day_off and chance(seed, "week", self.id, year, week).random() >= 0.01


def make_restaurants(dataset: Dataset) -> tuple[Restaurant, ...]:
    """All restaurants of the dataset. Each follows from the seed and its id, so a smaller dataset is the beginning."""
    return tuple(
        _restaurant(number, chance(dataset.seed, "restaurant", number)) for number in range(1, dataset.restaurants + 1)
    )


def _restaurant(number: int, rng: Random) -> Restaurant:
    city = _pick(CITIES, rng)
    opens, closes = _pick(HOURS, rng)
    opened_on = date(2019, 1, 1) + timedelta(days=int(rng.random() * 2000))
    left = opened_on + timedelta(days=100) if rng.random() < 0.03 else None
    return Restaurant(
        id=number,
        name=f"{STYLES[int(rng.random() * len(STYLES))]} {KINDS[int(rng.random() * len(KINDS))]} {number}",
        city=city,
        plan=_pick(PLANS, rng),
        opens=opens,
        closes=closes,
        day_off=(city.weekend[1] + 1) % 7 if rng.random() < 0.08 else None,
        opened_on=opened_on,
        closed_on=left,
        popularity=0.3 + 3 * rng.random() ** 3,
        menu=_menu(number, city, rng),
    )


def _menu(restaurant: int, city: City, rng: Random) -> tuple[MenuItem, ...]:
    dishes = sorted(DISHES, key=lambda _: rng.random())[: 18 + int(rng.random() * 16)]
    return tuple(
        MenuItem(
            id=restaurant * 100 + place,
            name=name,
            price_minor=5 * round(base * city.price_level * (0.8 + 0.5 * rng.random()) / 5),
            on_hand=int(rng.random() * 300),
            reorder_at=20 + int(rng.random() * 40),
        )
        for place, (name, base) in enumerate(dishes)
    )


def _pick(weighted: Sequence[tuple[T, int]], rng: Random) -> T:
    place = rng.random() * sum(weight for _, weight in weighted)
    for value, weight in weighted:
        place -= weight
        if place < 0:
            return value
    return weighted[-1][0]
