"""The minutes that a cron expression selects, on a clock that never changes: no zone, every value a naive datetime.

Both searches go from field to field (year, month, day, hour, minute) and look each value up; none steps through
minutes, and the years end in 2199, so a search that finds nothing ends too.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from handlers.declaration.cron_days import DayRule, Month

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Calendar:
    """A read expression: each tuple ascending and never empty."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    years: tuple[int, ...]
    rule: DayRule

    @property
    def every_hour(self) -> bool:
        """Whether the hour field selects all 24 hours."""
        return len(self.hours) == 24

    def at_or_after(self, wall: datetime) -> datetime | None:
        """The first selected minute that is not before `wall` (whole minutes)."""
        day = self._day_from(wall.date())
        if day is None:
            return None
        clock = self._time_from(wall.hour, wall.minute) if day == wall.date() else time(self.hours[0], self.minutes[0])
        if clock is None:
            day = self._day_from(wall.date() + ONE_DAY)
            clock = time(self.hours[0], self.minutes[0])
        return datetime.combine(day, clock) if day is not None else None

    def at_or_before(self, wall: datetime) -> datetime | None:
        """The last selected minute that is not after `wall` (whole minutes)."""
        day = self._day_until(wall.date())
        if day is None:
            return None
        last = time(self.hours[-1], self.minutes[-1])
        clock = self._time_until(wall.hour, wall.minute) if day == wall.date() else last
        if clock is None:
            day = self._day_until(wall.date() - ONE_DAY)
            clock = last
        return datetime.combine(day, clock) if day is not None else None

    def _day_from(self, start: date) -> date | None:
        for year in self.years[bisect_left(self.years, start.year) :]:
            for month in self.months:
                if (year, month) < (start.year, start.month):
                    continue
                days = _days(self.rule, _shape(year, month))
                earliest = start.day if (year, month) == (start.year, start.month) else 1
                position = bisect_left(days, earliest)
                if position < len(days):
                    return date(year, month, days[position])
        return None

    def _day_until(self, end: date) -> date | None:
        for year in reversed(self.years[: bisect_right(self.years, end.year)]):
            for month in reversed(self.months):
                if (year, month) > (end.year, end.month):
                    continue
                days = _days(self.rule, _shape(year, month))
                latest = end.day if (year, month) == (end.year, end.month) else 31
                position = bisect_right(days, latest)
                if position:
                    return date(year, month, days[position - 1])
        return None

    def _time_from(self, hour: int, minute: int) -> time | None:
        position = bisect_left(self.hours, hour)
        if position == len(self.hours):
            return None
        if self.hours[position] > hour:
            return time(self.hours[position], self.minutes[0])
        if minute <= self.minutes[-1]:
            return time(hour, self.minutes[bisect_left(self.minutes, minute)])
        return time(self.hours[position + 1], self.minutes[0]) if position + 1 < len(self.hours) else None

    def _time_until(self, hour: int, minute: int) -> time | None:
        position = bisect_right(self.hours, hour) - 1
        if position < 0:
            return None
        if self.hours[position] < hour:
            return time(self.hours[position], self.minutes[-1])
        if minute >= self.minutes[0]:
            return time(hour, self.minutes[bisect_right(self.minutes, minute) - 1])
        return time(self.hours[position - 1], self.minutes[-1]) if position else None


@lru_cache(maxsize=4096)
def _days(rule: DayRule, month: Month) -> tuple[int, ...]:
    return rule.days(month)


@lru_cache(maxsize=4096)
def _shape(year: int, month: int) -> Month:
    first = date(year, month, 1)
    following = date(year + month // 12, month % 12 + 1, 1)
    return Month(first.isoweekday() % 7 + 1, (following - first).days)
