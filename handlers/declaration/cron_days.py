"""The two day fields of a cron expression, as rules that name the days of a month.

Days of the week count as in EventBridge: 1 is Sunday, 7 is Saturday. "Cron expressions reference" leaves out three
forms that EventBridge takes: `6L` (an example in "Schedule types", EventBridge Scheduler user guide), `LW`, and `L-3`
(which AWS Support calls intended: https://zenn.dev/kz23szk/articles/d52df8b1614fb6).
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from handlers.declaration.cron_field import DAY_OF_MONTH, DAY_OF_WEEK, NotAllowed

SUNDAY, SATURDAY = 1, 7

BEFORE_LAST = re.compile(r"L(?:-([0-9]{1,2}))?")
NEAREST_WEEKDAY = re.compile(r"([0-9]{1,2})W")
LAST_OF_WEEKDAY = re.compile(r"([0-9]+|[A-Z]{3})L")
NTH_OF_WEEKDAY = re.compile(r"([0-9]+|[A-Z]{3})#([0-9]+)")


class Month(NamedTuple):
    """The shape of a month: the day of the week of its first day, and its number of days. There are 28 such shapes."""

    first: int
    length: int

    def weekday(self, day: int) -> int:
        """The day of the week (1 is Sunday) of a day of the month."""
        return (self.first + day - 2) % 7 + 1

    def first_on(self, weekday: int) -> int:
        """The first day of the month that falls on `weekday`."""
        return (weekday - self.first) % 7 + 1


@dataclass(frozen=True, slots=True)
class DaysOfMonth:
    """`1,15` or `*`: these days, in months that are long enough."""

    values: tuple[int, ...]

    def days(self, month: Month) -> tuple[int, ...]:
        """The due days, ascending."""
        return tuple(day for day in self.values if day <= month.length)


@dataclass(frozen=True, slots=True)
class LastDay:
    """`L` and `L-3`: the last day of the month, or so many days before it."""

    before: int

    def days(self, month: Month) -> tuple[int, ...]:
        """The due day, or none in a month that is too short."""
        return (month.length - self.before,) if month.length > self.before else ()


@dataclass(frozen=True, slots=True)
class NearestWeekday:
    """`15W` and `LW`: the Monday to Friday nearest to a day, without leaving its month; `day` None is the last."""

    day: int | None

    def days(self, month: Month) -> tuple[int, ...]:
        """The due day, or none in a month that does not have the day."""
        day = month.length if self.day is None else self.day
        if day > month.length:
            return ()
        weekday = month.weekday(day)
        if weekday == SATURDAY:
            return (day - 1 if day > 1 else day + 2,)
        if weekday == SUNDAY:
            return (day + 1 if day < month.length else day - 2,)
        return (day,)


@dataclass(frozen=True, slots=True)
class DaysOfWeek:
    """`MON-FRI`: these days of each week."""

    values: tuple[int, ...]

    def days(self, month: Month) -> tuple[int, ...]:
        """The due days, ascending."""
        return tuple(day for day in range(1, month.length + 1) if month.weekday(day) in self.values)


@dataclass(frozen=True, slots=True)
class LastOfWeekday:
    """`6L`: the last Friday of the month."""

    weekday: int

    def days(self, month: Month) -> tuple[int, ...]:
        """The due day."""
        return (max(range(month.first_on(self.weekday), month.length + 1, 7)),)


@dataclass(frozen=True, slots=True)
class NthOfWeekday:
    """`3#2`: the second Tuesday of the month."""

    weekday: int
    nth: int

    def days(self, month: Month) -> tuple[int, ...]:
        """The due day, or none in a month without a fifth such day."""
        day = month.first_on(self.weekday) + 7 * (self.nth - 1)
        return (day,) if day <= month.length else ()


DayRule = DaysOfMonth | LastDay | NearestWeekday | DaysOfWeek | LastOfWeekday | NthOfWeekday


def day_of_month_rule(text: str) -> tuple[DayRule, tuple[str, ...]]:
    """The rule that a day-of-month field (upper case, not `?`) states, and its complaints."""
    if match := BEFORE_LAST.fullmatch(text):
        before = int(match[1] or 0)
        known = match[1] is None or 1 <= before <= 30
        return LastDay(before), () if known else (f"day-of-month {text!r}: allowed is L, or L-1 to L-30",)
    if text == "LW":
        return NearestWeekday(None), ()
    if match := NEAREST_WEEKDAY.fullmatch(text):
        day = int(match[1])
        return NearestWeekday(day), () if 1 <= day <= 31 else (f"day-of-month {text!r}: allowed is 1W to 31W",)
    values, complaints = DAY_OF_MONTH.read(text)
    return DaysOfMonth(values), complaints


def day_of_week_rule(text: str) -> tuple[DayRule, tuple[str, ...]]:
    """The rule that a day-of-week field (upper case, not `?`) states, and its complaints."""
    if text == "L":  # the last day of the week, so each Saturday
        return DaysOfWeek((SATURDAY,)), ()
    try:
        if match := LAST_OF_WEEKDAY.fullmatch(text):
            return LastOfWeekday(DAY_OF_WEEK.number(match[1])), ()
        if match := NTH_OF_WEEKDAY.fullmatch(text):
            return NthOfWeekday(DAY_OF_WEEK.number(match[1]), _nth(text, match[2])), ()
    except NotAllowed as refusal:
        return DaysOfWeek(()), (str(refusal),)
    values, complaints = DAY_OF_WEEK.read(text)
    return DaysOfWeek(values), complaints


def _nth(text: str, nth: str) -> int:
    if nth not in {"1", "2", "3", "4", "5"}:
        raise NotAllowed(f"day-of-week {text!r}: allowed after # is 1-5")
    return int(nth)
