"""EventBridge's cron grammar read a second time, slowly: what a field says is asked of each value, day and minute.

Written from the wildcards in "Cron expressions reference" (Amazon EventBridge user guide), and from these, which that
page leaves out and the service has: `LW`, `6L`, and `L-3`, three days before the last. Nothing here is shared with the
engine. Times are naive: this reads no zone.
"""

import calendar
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache

Due = Callable[[date], bool]

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
DIGITS = frozenset("0123456789")


@dataclass(frozen=True)
class Column:
    """What the reference's table says of a field; `longest_step` is 0 where it has no `/`."""

    low: int
    high: int
    longest_step: int
    names: tuple[str, ...] = ()
    wraps: bool = True


MINUTE = Column(0, 59, 59)
HOUR = Column(0, 23, 23)
DAY_OF_MONTH = Column(1, 31, 31)
MONTH = Column(1, 12, 12, MONTHS)
DAY_OF_WEEK = Column(1, 7, 0, WEEKDAYS)
YEAR = Column(1970, 2199, 230, wraps=False)


@dataclass(frozen=True)
class Definition:
    """An expression as it is asked: is this value selected, is this day due?"""

    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    years: frozenset[int]
    due: Due

    def days(self, first: date, last: date) -> Iterator[date]:
        """Walk the calendar from `first` to `last`, both included, and yield the days that are due."""
        for year in range(first.year, last.year + 1):
            for month in range(1, 13) if year in self.years else ():
                within = (first.year, first.month) <= (year, month) <= (last.year, last.month)
                for day in month_of(year, month) if within and month in self.months else ():
                    if first <= day <= last and self.due(day):
                        yield day

    def times(self) -> list[time]:
        """Walk the minutes of a day and give those that are due."""
        return [
            time(hour, minute)
            for hour in range(24)
            if hour in self.hours
            for minute in range(60)
            if minute in self.minutes
        ]


def read(expression: str) -> Definition | None:
    """The definition of six fields; None when they are not of the grammar."""
    fields = expression.upper().split()
    if len(fields) != 6 or (fields[2] == "?") == (fields[4] == "?"):
        return None
    minute, hour, day_of_month, month, day_of_week, year = fields
    due = month_day(day_of_month) if day_of_week == "?" else weekday(day_of_week)
    minutes, hours = selected(MINUTE, minute), selected(HOUR, hour)
    months, years = selected(MONTH, month), selected(YEAR, year)
    if due is None or minutes is None or hours is None or months is None or years is None:
        return None
    return Definition(minutes, hours, months, years, due)


def selected(column: Column, text: str) -> frozenset[int] | None:
    """The values that a list of values, ranges and steps selects; None when one of them is wrong."""
    values: set[int] = set()
    for item in text.split(","):
        walked = walk(column, item)
        if walked is None:
            return None
        values.update(walked)
    return frozenset(values)


def walk(column: Column, item: str) -> list[int] | None:
    """Go around the dial from the first value of a range to its last, and stop at each that the step selects."""
    span, slash, step = item.partition("/")
    begin, dash, end = span.partition("-")
    if slash and not (counts(step, 4) and 1 <= int(step) <= column.longest_step):
        return None
    if span == "*":
        first, last = column.low, column.high
    else:
        known = value(column, begin), value(column, end if dash else begin)
        if known[0] is None or known[1] is None:
            return None
        first, last = known[0], column.high if slash and not dash else known[1]
    if first > last and not column.wraps:
        return None
    hand = [first]
    while hand[-1] != last:
        hand.append(column.low if hand[-1] == column.high else hand[-1] + 1)
    return hand[:: int(step) if slash else 1]


def value(column: Column, text: str) -> int | None:
    """What a number or a name stands for."""
    if text in column.names:
        return column.names.index(text) + column.low
    return int(text) if counts(text, 4) and column.low <= int(text) <= column.high else None


def counts(text: str, longest: int) -> bool:
    """Whether the text is a number of at most so many digits."""
    return 1 <= len(text) <= longest and DIGITS.issuperset(text)


def month_day(text: str) -> Due | None:
    """When a day-of-month field is due."""
    if text == "L":
        return lambda day: day == month_of(day.year, day.month)[-1]
    if text == "LW":
        return lambda day: day == [other for other in month_of(day.year, day.month) if other.weekday() < 5][-1]
    if text.startswith("L-"):
        if not counts(text[2:], 2) or not 1 <= int(text[2:]) <= 30:
            return None
        return lambda day: month_of(day.year, day.month)[-1] - day == timedelta(days=int(text[2:]))
    if text.endswith("W"):
        if not counts(text[:-1], 2) or not 1 <= int(text[:-1]) <= 31:
            return None
        return lambda day: day == nearest_weekday(day.year, day.month, int(text[:-1]))
    values = selected(DAY_OF_MONTH, text)
    return None if values is None else lambda day: day.day in values


def weekday(text: str) -> Due | None:
    """When a day-of-week field is due."""
    if text == "L":
        return lambda day: WEEKDAYS[day.isoweekday() % 7] == "SAT"
    if "#" in text:
        name, _, nth = text.partition("#")
        number = value(DAY_OF_WEEK, name)
        if nth not in {"1", "2", "3", "4", "5"}:
            return None
        return None if number is None else lambda day: counted(day) == number and (day.day - 1) // 7 + 1 == int(nth)
    if text.endswith("L"):
        number = value(DAY_OF_WEEK, text[:-1])
        last = timedelta(days=7)
        return None if number is None else lambda day: counted(day) == number and (day + last).month != day.month
    values = selected(DAY_OF_WEEK, text)
    return None if values is None else lambda day: counted(day) in values


def counted(day: date) -> int:
    """The day of the week as EventBridge counts it: 1 is Sunday."""
    return day.isoweekday() % 7 + 1


@cache
def month_of(year: int, month: int) -> tuple[date, ...]:
    """The days of a month."""
    return tuple(date(year, month, day + 1) for day in range(calendar.monthrange(year, month)[1]))


@cache
def nearest_weekday(year: int, month: int, day: int) -> date | None:
    """The Monday to Friday of the month that is least days from a day of it; None when it has no such day."""
    days = month_of(year, month)
    return None if day > len(days) else min((d for d in days if d.weekday() < 5), key=lambda d: abs(d.day - day))


def ticks(definition: Definition, start: datetime, end: datetime) -> list[datetime]:
    """The minutes from `start` on, without `end`, that are due."""
    times = definition.times()
    found = (datetime.combine(day, at) for day in definition.days(start.date(), end.date()) for at in times)
    return [tick for tick in found if start <= tick < end]
