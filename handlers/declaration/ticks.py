"""The ticks of a calendar on the clock of a zone: which instants the selected wall times stand for.

Wall times that the clock shows for the first time follow each other as their instants do, so both searches walk the
calendar and turn each wall time into its instant. Where every hour counts, a second showing is a tick of its own; it
can only lie near a change that put the clock back, and only there is it looked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from handlers.declaration.cron_calendar import Calendar
from handlers.declaration.zones import WallClock

MINUTE = timedelta(minutes=1)
# No change since 1970 moves a clock by more than a day (Pacific/Apia and Pacific/Kwajalein each left one out).
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Ticks:
    """A calendar read off one clock. Arguments and answers called instants are aware UTC."""

    calendar: Calendar
    clock: WallClock

    def next(self, after: datetime) -> datetime | None:
        """The first tick strictly after an instant."""
        first = self._next_first(after)
        if not self.calendar.every_hour:
            return first
        return min(filter(None, (first, self._next_repeat(after))), default=None)

    def previous(self, at: datetime) -> datetime | None:
        """The last tick at or before an instant."""
        first = self._previous_first(at)
        if first is None or not self.calendar.every_hour:
            return first
        return max(first, self._previous_repeat(first, at) or first)

    def skipped(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """Yield the wall times without an instant that would have been due, but for the change, from `start` to `end`.

        Where every hour counts there are none: all hours that pass have their ticks.
        """
        if self.calendar.every_hour:
            return
        for change in self.clock.changes(start - DAY, end):
            wall = self.calendar.at_or_after(_shifted(change.instant, change.old))
            while wall is not None and wall < _shifted(change.instant, change.new):
                if start <= (wall - change.old).replace(tzinfo=UTC) < end:
                    yield wall
                wall = self.calendar.at_or_after(wall + MINUTE)

    def _next_first(self, after: datetime) -> datetime | None:
        wall = self.calendar.at_or_after(_floor(self.clock.wall(after)) + MINUTE)
        while wall is not None:
            instant = self.clock.first(wall)
            if instant is not None and instant > after:
                return instant
            wall = self.calendar.at_or_after(wall + MINUTE)
        return None

    def _next_repeat(self, after: datetime) -> datetime | None:
        old, new = self.clock.offset(after - DAY), self.clock.offset(after + DAY)
        if new >= old:
            return None
        wall = self.calendar.at_or_after(_floor(_shifted(after, new)) + MINUTE)
        while wall is not None and wall <= _shifted(after, old):
            instant = self.clock.second(wall)
            if instant is not None and instant > after:
                return instant
            wall = self.calendar.at_or_after(wall + MINUTE)
        return None

    def _previous_first(self, at: datetime) -> datetime | None:
        # While a repeated hour lasts, the clock has shown more than it shows now: begin at the latest it showed.
        shown = max(self.clock.offset(at), self.clock.offset(at - DAY))
        wall = self.calendar.at_or_before(_floor(_shifted(at, shown)))
        while wall is not None:
            instant = self.clock.first(wall)
            if instant is not None and instant <= at:
                return instant
            wall = self.calendar.at_or_before(wall - MINUTE)
        return None

    def _previous_repeat(self, first: datetime, at: datetime) -> datetime | None:
        """The latest second showing up to `at`: it can only repeat the hour of `first`, the latest first showing."""
        wall: datetime | None = self.clock.wall(first)
        while wall is not None and (instant := self.clock.second(wall)) is not None:
            if instant <= at:
                return instant
            wall = self.calendar.at_or_before(wall - MINUTE)
        return None


def _shifted(instant: datetime, offset: timedelta) -> datetime:
    return instant.replace(tzinfo=None) + offset


def _floor(wall: datetime) -> datetime:
    return wall.replace(second=0, microsecond=0)
