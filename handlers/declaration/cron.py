"""When a job is due: EventBridge's cron grammar, in UTC or in a zone.

In a zone the ticks are local wall times, with clock changes treated as EventBridge Scheduler does ("Schedule types",
Amazon EventBridge Scheduler user guide):

- an expression with chosen hours fires by the wall: a local time that a change skips has no tick that day, and one
  that it repeats fires once, the first time;
- an expression whose hour field selects all 24 hours fires by the hours that pass: a day of 25 hours has 25 of them,
  a day of 23 has 23, and both showings of a repeated hour count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from handlers.declaration.cron_grammar import read
from handlers.declaration.ticks import Ticks
from handlers.declaration.unix_cron import from_unix
from handlers.declaration.zones import wall_clock, zone_complaints

WRAPPER = re.compile(r"\s*cron\((?P<fields>.*)\)\s*", re.DOTALL)

# The grammar's years are 1970 to 2199. No search finds anything outside of them, and datetime itself has an end.
BEGINNING = datetime(1969, 12, 30, tzinfo=UTC)
END = datetime(2200, 1, 3, tzinfo=UTC)

# No job table is older, so a schedule that ended before never fired. One that ended since is not refused here: running
# Lambdas check the table too, and one job that is over must not stop all the others.
OLDEST_TABLE = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cron:
    """A schedule: six fields without the `cron()` around them, and an IANA zone (None is UTC).

    Building one never raises; `complaints` says what is wrong with it, and the searches raise ValueError then.
    """

    expression: str
    zone: str | None = None

    @property
    def aws(self) -> str:
        """The expression as EventBridge takes it, such as `cron(0 2 * * ? *)`."""
        return f"cron({' '.join(self.expression.upper().split())})"

    def complaints(self) -> tuple[str, ...]:
        """What is wrong, each naming field, value and what is allowed; empty when good."""
        wrong = read(self.expression).complaints + tuple(zone_complaints(self.zone))
        if wrong or self.next(OLDEST_TABLE - timedelta(minutes=1)) is not None:
            return wrong
        last = self.previous(END)
        if last is not None:
            why = f"its last tick was {last:%Y-%m-%dT%H:%MZ}"
        else:
            why = "it has no date that exists" if self.zone is None else f"it has no time that exists in {self.zone}"
        return (f"{self.expression!r}: never fires, since {why}",)

    def next(self, after: datetime) -> datetime | None:
        """The first tick strictly after an aware time, as aware UTC; None when none follows up to the year 2199."""
        return _ticks(self).next(_instant(after))

    def previous(self, at: datetime) -> datetime | None:
        """The last tick at or before an aware time, as aware UTC; None when there was none since 1970."""
        return _ticks(self).previous(_instant(at))

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """Yield the ticks from `start` on, up to but without `end`."""
        ticks, end = _ticks(self), _instant(end)
        tick = ticks.next(_instant(start) - timedelta(microseconds=1))
        while tick is not None and tick < end:
            yield tick
            tick = ticks.next(tick)


def cron(expression: str, *, zone: str | None = None) -> Cron:
    """A schedule of six fields, minute hour day-of-month month day-of-week year; `cron(...)` around them may stay."""
    wrapped = WRAPPER.fullmatch(expression)
    return Cron(wrapped["fields"] if wrapped else expression, zone)


def every(*, minutes: int | None = None, hours: int | None = None) -> Cron:
    """A schedule in UTC that repeats evenly through each hour or day, counted from 00:00.

    A span that divides neither an hour nor a day stays as it was written, for `Cron.complaints` to refuse.
    """
    span = (minutes or 0) + 60 * (hours or 0)
    if span > 0 and 60 % span == 0:
        minute = {1: "*", 60: "0"}.get(span, f"0/{span}")
        return Cron(f"{minute} * * * ? *")
    if span > 0 and span % 60 == 0 and 24 * 60 % span == 0:
        hour = "0" if span == 24 * 60 else f"0/{span // 60}"
        return Cron(f"0 {hour} * * ? *")
    written = ", ".join(
        f"{unit}={count}" for unit, count in (("minutes", minutes), ("hours", hours)) if count is not None
    )
    return Cron(f"every({written})")


def unix(line: str, *, zone: str | None = None) -> Cron:
    """A schedule from a unix crontab line: five fields, or a name such as @daily.

    A line that EventBridge cannot say in one expression stays as it was written, for `Cron.complaints` to refuse.
    """
    meant = from_unix(line).expressions
    return Cron(meant[0] if len(meant) == 1 else f"unix({line})", zone)


def skipped_by_dst(schedule: Cron, start: datetime, end: datetime) -> Iterator[datetime]:
    """Yield the local times (naive) that a clock change takes from the schedule.

    `start` (included) and `end` (not included) bound the instants at which they would have been due without it. An
    expression that selects every hour loses none.
    """
    return _ticks(schedule).skipped(_instant(start), _instant(end))


def _ticks(schedule: Cron) -> Ticks:
    reading = read(schedule.expression)
    if reading.calendar is None:
        raise ValueError("; ".join(reading.complaints))
    return Ticks(reading.calendar, wall_clock(schedule.zone))


def _instant(moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise ValueError(f"{moment}: allowed is a time with a zone, such as datetime.now(UTC)")
    return min(max(moment, BEGINNING), END).astimezone(UTC)
