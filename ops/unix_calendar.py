"""When cron(8) on a machine in a zone would run a crontab line, worked out apart from the product's own calendar.

Nothing here is shared with `handlers.declaration`: what it answers is held against what EventBridge does.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

NICKNAMES = {
    "yearly": "0 0 1 1 *",
    "annually": "0 0 1 1 *",
    "monthly": "0 0 1 * *",
    "weekly": "0 0 * * sun",
    "daily": "0 0 * * *",
    "midnight": "0 0 * * *",
    "hourly": "0 * * * *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
PART = re.compile(r"(\*|\w+)(?:-(\w+))?(?:/(\d+))?")
ONE_DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
# cron(8): a clock that moves by more is taken as set right, and nothing is made up for.
LARGEST_SHIFT = timedelta(hours=3)
LAST_DAY = date(2199, 12, 31)


@dataclass(frozen=True, slots=True)
class Crontab:
    """A line that has been found to be one.

    either: a day is due when it is of `days` or of `weekdays` (0 is Sunday), not of both: no day field begins with `*`.
    fixed: it names its times, so cron makes up for those that a clock change skips, and leaves out those it repeats.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    fixed: bool

    def runs(self, start: datetime, zone: tzinfo) -> Iterator[datetime]:
        """Yield the minutes (UTC) from `start` (aware) on at which it runs on a machine in the zone, up to 2199."""
        day, last = start.astimezone(zone).date() - ONE_DAY, start.astimezone(UTC) - timedelta(microseconds=1)
        while day <= LAST_DAY:
            for run in self._of_day(day, zone) if self._due(day) else ():
                if run > last:
                    yield run
                    last = run
            day += ONE_DAY

    def _due(self, day: date) -> bool:
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (of_month or of_week if self.either else of_month and of_week)

    def _of_day(self, day: date, zone: tzinfo) -> list[datetime]:
        walls = [datetime.combine(day, time(hour, minute)) for hour in self.hours for minute in self.minutes]
        return sorted({run for wall in walls for run in self._at(wall, zone)})

    def _at(self, wall: datetime, zone: tzinfo) -> set[datetime]:
        """When it runs for a time on the wall: once, twice where that comes twice, or when the clock has skipped it."""
        first, second = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if first <= second:
            return {first} if self.fixed else {first, second}
        if not self.fixed or first - second > LARGEST_SHIFT:  # read by either offset, a skipped time has two instants
            return set()
        return {_change(second, first, zone)}


def read_crontab(line: str) -> Crontab:
    """The line, which has five fields or an @name and is right."""
    line = line.strip().lower()
    minute, hour, day, month, weekday = (NICKNAMES[line[1:]] if line.startswith("@") else line).split()
    return Crontab(
        _values(minute, range(60)),
        _values(hour, range(24)),
        _values(day, range(1, 32)),
        _values(month, range(1, 13), ("", *MONTHS)),
        _values(weekday, range(7), DAYS),
        either=day[0] not in "*?" and weekday[0] not in "*?",
        fixed=minute[0] != "*" and hour[0] != "*",
    )


def _values(field: str, allowed: range, names: tuple[str, ...] = ()) -> frozenset[int]:
    """Counted up from the first value to the last, past the end of the allowed ones where the last is before it."""
    found: set[int] = set()
    for part in field.replace("?", "*").split(","):
        match = PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is no part of a crontab line")
        first, last, step = match.groups()
        if first == "*":
            low, high = allowed[0], allowed[-1]
        else:
            low = names.index(first) if first in names else int(first)
            high = low if last is None else names.index(last) if last in names else int(last)
        if high < low:
            high += len(allowed)
        found.update((value - allowed[0]) % len(allowed) + allowed[0] for value in range(low, high + 1, int(step or 1)))
    return frozenset(found)


def _change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The minute at which the zone's clock changes."""
    old = before.astimezone(zone).utcoffset()
    while after - before > MINUTE:
        middle = before + (after - before) // MINUTE // 2 * MINUTE
        before, after = (middle, after) if middle.astimezone(zone).utcoffset() == old else (before, middle)
    return after
