"""Two hundred random schedules in zones that change their clocks, at each change from 2020 to 2035 and between them.

Around each change the clock is read minute by minute; elsewhere a local time has one instant.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from handlers.declaration.cron import Cron, cron, skipped_by_dst
from tests.declaration.cron_by_definition import Definition, read
from tests.declaration.cron_writer import seeded

INSTANT, MINUTE, HOUR, DAY = timedelta(microseconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
START, END = datetime(2020, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC)
AROUND = timedelta(hours=6)  # no change of these years moves a clock by more than three hours
PER_ZONE = 20

# Half an hour (Lord Howe); at midnight (Havana, Cairo, Tehran, Santiago, Beirut); on Fridays (Cairo); given up on the
# way (Tehran, Apia) or taken up again (Cairo); twice a year by the moon (Casablanca). Each with its changes in the
# years 2020 to 2024: later ones are forecasts, which a newer release of the zones may alter.
ZONES = {
    "Australia/Lord_Howe": 10,
    "America/Havana": 10,
    "Africa/Cairo": 4,
    "Asia/Tehran": 6,
    "Europe/Berlin": 10,
    "America/New_York": 10,
    "America/Santiago": 10,
    "Africa/Casablanca": 10,
    "Pacific/Apia": 3,
    "Asia/Beirut": 10,
}


@dataclass(frozen=True)
class Change:
    """A change of the clock, and the local times that it leaves out, each with the instant at which it was due."""

    instant: datetime
    missing: tuple[tuple[datetime, datetime], ...]


@dataclass(frozen=True)
class Clock:
    """A zone from `START` to `END`."""

    zone: ZoneInfo
    changes: tuple[Change, ...]
    shown: dict[datetime, list[datetime]]  # local times near the changes

    def instants(self, wall: datetime) -> list[datetime]:
        """When the clock shows `wall`, ascending: never, once or twice."""
        near = self.shown.get(wall)
        if near is not None:
            return near
        instant = wall.replace(tzinfo=self.zone).astimezone(UTC)
        return [instant] if instant.astimezone(self.zone).replace(tzinfo=None) == wall else []


@cache
def clock(name: str) -> Clock:
    """Find the changes by walking days, then hours, then minutes; read off the minutes around each."""
    zone = ZoneInfo(name)

    def changed(first: datetime, steps: int, step: timedelta) -> list[datetime]:
        read_off = [(first + i * step, (first + i * step).astimezone(zone).utcoffset()) for i in range(steps + 1)]
        return [before for (before, old), (_, new) in pairwise(read_off) if old != new]

    changes, shown = [], {}
    for day in changed(START - DAY, (END - START).days + 2, DAY):
        for hour in changed(day, 24, HOUR):
            for minute in changed(hour, 60, MINUTE):
                around = walked(zone, minute + MINUTE)
                changes.append(Change(minute + MINUTE, tuple(missing(around, minute))))
                shown.update(around)
    return Clock(zone, tuple(changes), shown)


def walked(zone: ZoneInfo, instant: datetime) -> dict[datetime, list[datetime]]:
    """The minutes around an instant: each local time with the instants at which the clock shows it."""
    shown: dict[datetime, list[datetime]] = {}
    for count in range(-int(AROUND / MINUTE), int(AROUND / MINUTE)):
        moment = instant + count * MINUTE
        shown.setdefault(moment.astimezone(zone).replace(tzinfo=None, fold=0), []).append(moment)
    return shown


def missing(shown: dict[datetime, list[datetime]], last_before: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the local times that are not shown, each with the minute it would be, had the clock gone on unchanged."""
    (wall,) = (wall for wall, instants in shown.items() if last_before in instants)
    count = 1
    while wall + count * MINUTE not in shown:
        yield wall + count * MINUTE, last_before + count * MINUTE
        count += 1


@dataclass(frozen=True)
class Case:
    """A schedule, and what the walk says of it."""

    schedule: Cron
    definition: Definition
    times: list[time]
    clock: Clock

    @property
    def every_hour(self) -> bool:
        return len(self.definition.hours) == 24

    def ticks(self, start: datetime, end: datetime) -> list[datetime]:
        """The instants from `start` on, without `end`: the first showing of each local time, or every one."""
        days = self.definition.days(start.date() - DAY, end.date() + DAY)
        shown = (self.clock.instants(datetime.combine(day, at)) for day in days for at in self.times)
        chosen = (instants if self.every_hour else instants[:1] for instants in shown)
        return sorted(instant for instants in chosen for instant in instants if start <= instant < end)

    def skipped(self, changes: Iterable[Change], start: datetime, end: datetime) -> list[datetime]:
        """The local times that the changes leave out and that would have been due from `start` on, before `end`."""
        lost = (left_out for change in changes for left_out in change.missing)
        return [wall for wall, due in lost if start <= due < end and self.due(wall) and not self.every_hour]

    def due(self, wall: datetime) -> bool:
        chosen = self.definition
        at_that_time = wall.hour in chosen.hours and wall.minute in chosen.minutes
        return at_that_time and any(True for _ in chosen.days(wall.date(), wall.date()))


def cases(zone: str) -> list[Case]:
    """Schedules at the hours of the zone's changes and at others, on their days and on others; some every hour."""
    rng, read_off = seeded(zone), clock(zone)
    found = []
    for number in range(PER_ZONE):
        local = [change.instant.astimezone(read_off.zone) for change in rng.sample(read_off.changes, 3)]
        minutes = rng.sample([0, 1, 15, 29, 30, 31, 45, 59, rng.randrange(60)], rng.choice((1, 1, 2)))
        near = {(moment.hour + by) % 24 for moment in local for by in (-2, -1, 0)}
        hours = rng.sample(sorted(near), rng.choice((1, 2, 3))) + rng.sample(range(24), rng.choice((0, 1)))
        weekday = rng.choice(local).isoweekday() % 7 + 1
        days = rng.choice(
            (
                *(
                    "* * ?",
                    "* * ?",
                    f"? * {weekday}",
                    f"? * {weekday}L",
                    f"? */2 {weekday}#{rng.randint(1, 5)}",
                    "LW * ?",
                ),
                *(f"{moment.day} {moment.month} ?" for moment in local),
            )
        )
        hour = "*" if number % 4 == 0 else listed(hours)
        expression = f"{listed(minutes)} {hour} {days} *"
        definition = read(expression)
        assert definition is not None, expression
        found.append(Case(cron(expression, zone=zone), definition, definition.times(), read_off))
    return found


def listed(values: Iterable[int]) -> str:
    return ",".join(map(str, sorted(set(values))))


@pytest.mark.parametrize(("zone", "changes"), ZONES.items())
def test_the_walk_finds_every_change(zone: str, changes: int) -> None:
    assert sum(change.instant.year < 2025 for change in clock(zone).changes) == changes


@pytest.mark.parametrize("zone", ZONES)
def test_ticks_at_each_change_are_those_that_the_clock_shows(zone: str) -> None:
    rng = seeded(f"instants in {zone}")
    for case in cases(zone):
        for change in case.clock.changes:
            where = (case.schedule, change.instant)
            start, end = change.instant - 14 * HOUR, change.instant + 14 * HOUR
            ticks = case.ticks(start, end)
            assert list(case.schedule.between(start, end)) == ticks, where
            assert back(case.schedule, start, end) == ticks[::-1], where
            # Also from and to the middle of an hour that is left out.
            for begin, stop in ((start, end), (change.instant + 30 * MINUTE, end), (start, change.instant + HOUR / 2)):
                lost = case.skipped((change,), begin, stop)
                assert list(skipped_by_dst(case.schedule, begin, stop)) == lost, where
            for instant in (change.instant - INSTANT, change.instant, change.instant + rng.random() * 2 * HOUR):
                compare(case, ticks, start, end, instant)


@pytest.mark.parametrize("zone", ZONES)
def test_over_sixteen_years_nothing_is_due_or_skipped_but_what_the_clock_shows_or_leaves_out(zone: str) -> None:
    for case in filter(rare, cases(zone)):
        ticks = case.ticks(START, END)
        assert list(case.schedule.between(START, END)) == ticks, case.schedule
        assert back(case.schedule, START, END) == ticks[::-1], case.schedule
        lost = case.skipped(case.clock.changes, START, END)
        assert list(skipped_by_dst(case.schedule, START, END)) == lost, case.schedule


def rare(case: Case) -> bool:
    """Whether the schedule has at most 40 ticks a year."""
    return len(case.times) * sum(1 for _ in case.definition.days(date(2024, 1, 1), date(2024, 12, 31))) <= 40


def back(schedule: Cron, start: datetime, end: datetime) -> list[datetime]:
    """The ticks from the last before `end` back to `start`, by `previous` alone."""
    found = []
    tick = schedule.previous(end - INSTANT)
    while tick is not None and tick >= start:
        found.append(tick)
        tick = schedule.previous(tick - INSTANT)
    return found


def compare(case: Case, ticks: list[datetime], start: datetime, end: datetime, instant: datetime) -> None:
    """Hold `next` and `previous` at an instant against the ticks from `start` to `end`."""
    following, upcoming = case.schedule.next(instant), ticks[bisect_right(ticks, instant) :]
    assert following == upcoming[0] if upcoming else following is None or following >= end, (case.schedule, instant)
    before, past = case.schedule.previous(instant), ticks[: bisect_right(ticks, instant)]
    assert before == past[-1] if past else before is None or before < start, (case.schedule, instant)
