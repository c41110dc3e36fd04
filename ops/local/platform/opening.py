"""When guests order: the hours of a restaurant, the rushes at lunch and dinner, and the days of the week."""

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from math import exp
from zoneinfo import ZoneInfo

from ops.local.platform.restaurants import Restaurant

# Local hour, width in hours and height of each rush, above an even trickle.
TRICKLE = 0.15
RUSHES = ((8.5, 1.2, 0.5), (13.5, 1.1, 1.0), (20.75, 1.5, 1.6))
SLOT = timedelta(minutes=5).seconds
PLACES = 1024

# Days before, on, and after the weekend's two days, as shares of an average day: the seven add up to 7.
FIRST_WEEKEND_DAY, SECOND_WEEKEND_DAY, EVE, ORDINARY = 1.2, 1.1, 1.1, 0.9


def opening_second(restaurant: Restaurant, day: date) -> int:
    """The instant it opens on this local day, in seconds after the day began in UTC; may be negative."""
    opens = datetime.combine(day, restaurant.opens, ZoneInfo(restaurant.city.zone))
    return int((opens - datetime.combine(day, time(), UTC)).total_seconds())


def open_seconds(restaurant: Restaurant) -> int:
    """How long it stays open."""
    return _span(restaurant.opens, restaurant.closes)


def rush_hours(restaurant: Restaurant) -> tuple[int, ...]:
    """1,024 equally likely starts of a five-minute slot, in seconds after opening: draw one, and rushes come out."""
    return _quantiles(restaurant.opens, restaurant.closes)


def weekday_factor(restaurant: Restaurant, day: date) -> float:
    """How busy this weekday is, where 1 is an average day."""
    first, second = restaurant.city.weekend
    weekday = day.weekday()
    return {first: FIRST_WEEKEND_DAY, second: SECOND_WEEKEND_DAY, first - 1: EVE}.get(weekday, ORDINARY)


def _span(opens: time, closes: time) -> int:
    seconds = (closes.hour - opens.hour) * 3600 + (closes.minute - opens.minute) * 60
    return seconds if seconds > 0 else seconds + 86400


@cache
def _quantiles(opens: time, closes: time) -> tuple[int, ...]:
    starts = range(0, _span(opens, closes), SLOT)
    weights = [_demand((opens.hour + opens.minute / 60 + start / 3600) % 24) for start in starts]
    step = sum(weights) / PLACES
    places: list[int] = []
    reached = 0.0
    for start, weight in zip(starts, weights, strict=True):
        reached += weight
        while len(places) < PLACES and (len(places) + 0.5) * step < reached:
            places.append(start)
    return tuple(places)


def _demand(hour: float) -> float:
    return TRICKLE + sum(height * exp(-(((hour - peak) / width) ** 2)) for peak, width, height in RUSHES)
