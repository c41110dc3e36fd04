"""Local time in one zone, with the times that a clock change skips or repeats."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

SECOND = timedelta(seconds=1)
# A day that begins and ends with one offset holds no change: no zone has two within five days (tzdata since 1970).
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a clock: the first instant of the new offset, and both offsets."""

    instant: datetime
    old: timedelta
    new: timedelta


@dataclass(frozen=True, slots=True)
class WallClock:
    """A clock on a wall of the zone. An `instant` is aware UTC; a `wall` is what the clock shows, a naive datetime."""

    zone: tzinfo

    def offset(self, instant: datetime) -> timedelta:
        """How far the clock is ahead of UTC at the instant."""
        return instant.astimezone(self.zone).utcoffset() or timedelta()

    def wall(self, instant: datetime) -> datetime:
        """What the clock shows at the instant."""
        return instant.astimezone(self.zone).replace(tzinfo=None, fold=0)

    def unchanged(self, wall: datetime) -> datetime:
        """The instant at which the clock would show `wall` if a change then did not happen (PEP 495, fold 0)."""
        return wall.replace(tzinfo=self.zone, fold=0).astimezone(UTC)

    def first(self, wall: datetime) -> datetime | None:
        """The instant at which the clock first shows `wall`; None when a change skips it."""
        instant = self.unchanged(wall)
        return instant if self.wall(instant) == wall else None

    def second(self, wall: datetime) -> datetime | None:
        """The instant at which the clock shows `wall` again; None when it does so once or never."""
        instant = wall.replace(tzinfo=self.zone, fold=1).astimezone(UTC)
        again = instant.astimezone(self.zone)
        return instant if again.fold and again.replace(tzinfo=None, fold=0) == wall else None

    def changes(self, start: datetime, end: datetime) -> Iterator[Change]:
        """Yield the changes after `start` and up to `end`, ascending. Both count in whole seconds, as changes do."""
        before, last = start.replace(microsecond=0), end.replace(microsecond=0)
        old = self.offset(before)
        while before < last:
            after = min(before + DAY, last)
            new = self.offset(after)
            if new != old:
                yield Change(self._first_with(new, before, after), old, new)
            before, old = after, new

    def _first_with(self, new: timedelta, before: datetime, after: datetime) -> datetime:
        while after - before > SECOND:
            middle = before + (after - before) // SECOND // 2 * SECOND
            before, after = (before, middle) if self.offset(middle) == new else (middle, after)
        return after


@lru_cache(maxsize=256)
def wall_clock(zone: str | None) -> WallClock:
    """The clock of an IANA zone, such as Europe/Berlin; None is UTC. Raises ValueError for an unknown one."""
    if zone is None:
        return WallClock(UTC)
    for complaint in zone_complaints(zone):
        raise ValueError(complaint)
    return WallClock(ZoneInfo(zone))


def zone_complaints(zone: str | None) -> Iterator[str]:
    """Yield why `zone` is no IANA zone, with the nearest that is; nothing for None."""
    if zone is None or _exists(zone):
        return
    known = {name.casefold(): name for name in sorted(available_timezones())}
    nearest = get_close_matches(zone.casefold(), known, n=1)
    if not known:
        yield f"zone {zone!r}: this machine has no time zone data; install the Python package tzdata"
    elif nearest:
        yield f"zone {zone!r}: allowed is an IANA zone; did you mean {known[nearest[0]]}?"
    else:
        yield f"zone {zone!r}: allowed is an IANA zone such as Europe/Berlin, or none for UTC"


def _exists(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, OSError, ValueError):  # OSError: a folder (America). ValueError: ../x, or empty.
        return False
    return True
