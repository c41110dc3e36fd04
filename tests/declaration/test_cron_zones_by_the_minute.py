"""Ticks in zones around clock changes: local times held against the clock, read minute by minute."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from handlers.declaration.cron import Cron, cron, skipped_by_dst
from tests.declaration.instants import utc

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Night:
    """All minutes around one clock change, read off the clock one by one: instant, wall time, whether shown before."""

    zone: str
    minutes: tuple[tuple[datetime, datetime, bool], ...]

    @property
    def start(self) -> datetime:
        return self.minutes[0][0]

    @property
    def end(self) -> datetime:
        return self.minutes[-1][0] + MINUTE


# Changes of 30 minutes, 2 hours and a day; at midnight and at 00:01; forwards in winter; moved by a religious month.
ZONES = (
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Caracas",
    "America/Havana",
    "America/New_York",
    "America/Santiago",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Pacific/Apia",
)


@cache
def changes(zone: str) -> tuple[datetime, ...]:
    """The hours of the years 2000 to 2029 in which the zone's offset changes."""
    clock = ZoneInfo(zone)
    first = utc("2000-01-01T00:00")

    def changed(begin: datetime, steps: int, step: timedelta) -> list[datetime]:
        offsets = [(begin + i * step).astimezone(clock).utcoffset() for i in range(steps + 1)]
        return [begin + i * step for i, (old, new) in enumerate(pairwise(offsets)) if old != new]

    days = changed(first, 30 * 365, timedelta(days=1))
    return tuple(hour for day in days for hour in changed(day, 24, timedelta(hours=1)))


def night(zone: str, change: datetime) -> Night:
    """The 30 hours before and after a change."""
    clock, first = ZoneInfo(zone), change - timedelta(hours=30)
    shown = ((first + i * MINUTE).astimezone(clock) for i in range(60 * 60))
    return Night(
        zone, tuple((wall.astimezone(UTC), wall.replace(tzinfo=None, fold=0), bool(wall.fold)) for wall in shown)
    )


@dataclass(frozen=True)
class Chosen:
    """Minutes, hours and days, from which the expression is written and the ticks are counted."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]

    def schedule(self, zone: str) -> Cron:
        fields = (",".join(map(str, sorted(values))) for values in (self.minutes, self.hours, self.days))
        return cron(f"{' '.join(fields)} * ? *", zone=zone)

    def due(self, wall: datetime) -> bool:
        return wall.minute in self.minutes and wall.hour in self.hours and wall.day in self.days

    def ticks(self, night: Night) -> list[datetime]:
        every_hour = len(self.hours) == 24
        return [instant for instant, wall, again in night.minutes if self.due(wall) and (every_hour or not again)]

    def skipped(self, night: Night) -> list[datetime]:
        shown = {wall for _, wall, _ in night.minutes}
        first, last = min(shown), max(shown)
        walls = (first + i * MINUTE for i in range(int((last - first) / MINUTE)))
        return [wall for wall in walls if wall not in shown and self.due(wall) and len(self.hours) < 24]


def chosen(rng: random.Random, around: datetime) -> Iterator[Chosen]:
    """Random choices, of which every other one takes all hours."""
    near = [(around + timedelta(days=days)).day for days in (-1, 0, 1)]
    while True:
        minutes = frozenset(rng.sample(range(60), rng.choice((1, 2, 4))))
        hours = frozenset(rng.sample(range(24), rng.choice((1, 5, 23, 24, 24, 24))))
        days = frozenset(rng.choice((range(1, 32), rng.sample(near, 1), rng.sample(near, 2))))
        yield Chosen(minutes, hours, days)


@pytest.mark.parametrize("zone", ZONES)
def test_ticks_around_clock_changes_are_those_read_off_the_clock_minute_by_minute(zone: str) -> None:
    rng = random.Random(zone)  # noqa: S311 - nothing here is a secret
    for change in rng.sample(changes(zone), min(3, len(changes(zone)))):
        around = night(zone, change)
        choices = chosen(rng, change)
        for choice in (next(choices) for _ in range(5)):
            schedule, ticks = choice.schedule(zone), choice.ticks(around)
            assert list(schedule.between(around.start, around.end)) == ticks, (schedule, change)
            assert list(skipped_by_dst(schedule, around.start, around.end)) == choice.skipped(around), (
                schedule,
                change,
            )
            for instant, _, _ in rng.sample(around.minutes, 10):
                at = instant + timedelta(seconds=rng.randrange(60))
                before = [tick for tick in ticks if tick <= at]
                found = schedule.previous(at)
                assert found == before[-1] if before else found is None or found < around.start, (schedule, at)
