"""Outages: the times at which no bell rings, no scheduler looks and no process lives, as with a region that is down."""

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from ops.instant import read_instant

TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
DAY = timedelta(days=1)


class Outage(ABC):
    """One outage as it is asked for."""

    __slots__ = ()

    @abstractmethod
    def spans(self, start: datetime, end: datetime) -> Iterator["Span"]:
        """Yield the spans that may reach into the time from `start` to `end`."""


@dataclass(frozen=True, slots=True)
class Span(Outage):
    """From `start` (included) to `end` (not included), aware UTC."""

    start: datetime
    end: datetime

    def spans(self, start: datetime, end: datetime) -> Iterator["Span"]:
        """Yield itself."""
        yield self


@dataclass(frozen=True, slots=True)
class Daily(Outage):
    """The same hours of each day in UTC; over midnight where `end` is not later than `start`."""

    start: time
    end: time

    def spans(self, start: datetime, end: datetime) -> Iterator[Span]:
        """Yield one for each day that may reach into the time from `start` to `end`."""
        day = start.date() - DAY
        while datetime.combine(day, self.start, UTC) < end:
            began, ended = datetime.combine(day, self.start, UTC), datetime.combine(day, self.end, UTC)
            yield Span(began, ended if ended > began else ended + DAY)
            day += DAY


@dataclass(frozen=True, slots=True)
class Outages:
    """All outages of a simulation, in the order of time and apart from each other."""

    spans: tuple[Span, ...] = ()

    def over(self, at: datetime) -> datetime:
        """The end of the outage that goes on at `at`; `at` itself when there is none."""
        place = bisect_right(self.spans, at, key=lambda span: span.start) - 1
        return max(at, self.spans[place].end) if place >= 0 else at

    def __contains__(self, at: datetime) -> bool:
        return self.over(at) != at


def outages(given: Iterable[Outage], start: datetime, end: datetime) -> Outages:
    """The outages that fall between `start` and `end`, with those that touch each other as one."""
    spans = [span for outage in given for span in outage.spans(start, end)]
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        if span.end <= start or span.start >= end:
            continue
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return Outages(tuple(merged))


def read_outage(given: str) -> Outage | None:
    """`02:00..05:00` of each day in UTC, or `TIME..TIME` with dates or ISO 8601 times; None for anything else."""
    first, dots, last = given.partition("..")
    if not dots:
        return None
    if TIME_OF_DAY.fullmatch(first) and TIME_OF_DAY.fullmatch(last):
        daily = Daily(time.fromisoformat(first), time.fromisoformat(last))
        return None if daily.start == daily.end else daily
    start, end = read_day(first), read_day(last)
    return Span(start, end) if start is not None and end is not None and start < end else None


def read_day(given: str) -> datetime | None:
    """A date, which means its first moment in UTC, or an ISO 8601 time with its zone; None for anything else."""
    if not DATE.fullmatch(given):
        return read_instant(given)
    try:
        return datetime.combine(date.fromisoformat(given), time(), UTC)
    except ValueError:  # such as a 30 February
        return None
