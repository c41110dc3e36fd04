"""The nights on which a clock change touches a schedule, and how."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Literal

from handlers.declaration.cron import Cron, skipped_by_dst
from handlers.declaration.cron_grammar import read
from handlers.declaration.zones import Change, WallClock, wall_clock

DAY, MOMENT = timedelta(days=1), timedelta(microseconds=1)

# skipped: local times that do not exist, so no tick. once: local times that come twice, a tick at the first alone.
# fewer, more: a schedule of every hour on a day that is shorter or longer, so that it has other than its usual ticks.
Effect = Literal["skipped", "once", "fewer", "more"]


@dataclass(frozen=True, slots=True)
class Night:
    """What one clock change does to a schedule.

    walls: the local times it is about (naive, ascending); the midnight of the day for fewer and more.
    instants: the same in UTC; for skipped when those would have been due.
    ticks, usual: how many the local day has, and other days have; for fewer and more.
    """

    effect: Effect
    change: Change
    walls: tuple[datetime, ...]
    instants: tuple[datetime, ...]
    ticks: int = 0
    usual: int = 0


def nights(schedule: Cron, start: datetime, end: datetime) -> Iterator[Night]:
    """Yield the effects of the clock changes from `start` up to `end` (aware), in the order of time.

    Raises ValueError for a schedule with complaints.
    """
    reading = read(schedule.expression)
    if reading.calendar is None:
        raise ValueError("; ".join(reading.complaints))
    if schedule.zone is None:
        return
    clock, start, end = wall_clock(schedule.zone), start.astimezone(UTC), end.astimezone(UTC)
    for change in clock.changes(start, end):
        if reading.calendar.every_hour:
            usual = len(reading.calendar.minutes) * len(reading.calendar.hours)
            found = _other_count(schedule, clock, change, usual)
        elif change.new > change.old:
            found = _skipped(schedule, clock, change)
        else:
            found = _once(schedule, clock, change)
        if found is not None:
            yield found


def _skipped(schedule: Cron, clock: WallClock, change: Change) -> Night | None:
    gone = change.new - change.old
    walls = tuple(skipped_by_dst(schedule, change.instant, change.instant + gone))
    return Night("skipped", change, walls, tuple(map(clock.unchanged, walls))) if walls else None


def _once(schedule: Cron, clock: WallClock, change: Change) -> Night | None:
    """The ticks of the span before the change that the clock then shows again."""
    ticks = tuple(schedule.between(change.instant - (change.old - change.new), change.instant))
    return Night("once", change, tuple(map(clock.wall, ticks)), ticks) if ticks else None


def _other_count(schedule: Cron, clock: WallClock, change: Change, usual: int) -> Night | None:
    """The day of the change, when it has other than the usual number of ticks; none on a day that is not due."""
    # At midnight a clock goes forward on the day that begins, and back on the day that ends.
    shown = clock.wall(change.instant if change.new > change.old else change.instant - MOMENT)
    day = datetime.combine(shown.date(), time())
    begin, end = clock.unchanged(day), clock.unchanged(day + DAY)
    ticks = sum(1 for _ in schedule.between(begin, end))
    if ticks in (0, usual):
        return None
    return Night("fewer" if ticks < usual else "more", change, (day,), (begin,), ticks, usual)
