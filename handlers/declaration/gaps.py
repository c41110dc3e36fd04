"""The shortest time between two ticks of a schedule."""

from datetime import UTC, datetime, time, timedelta
from functools import cache
from itertools import pairwise

from handlers.declaration.cron import Cron
from handlers.declaration.cron_calendar import Calendar
from handlers.declaration.cron_grammar import read
from handlers.declaration.zones import wall_clock

# Fixed years, so that a table that is right stays right; long enough for each month, weekday and clock change.
FROM, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)
DAY, MOMENT = timedelta(days=1), timedelta(microseconds=1)


@cache
def shortest_gap(schedule: Cron) -> timedelta:
    """The shortest time between two ticks of one day or of two days running; timedelta.max where there are none.

    The times of day are the same on all days that are due: the gaps within a day, over a midnight between two of them
    and over a clock change are all there are. Raises ValueError for a schedule with complaints.
    """
    reading = read(schedule.expression)
    if reading.calendar is None:
        raise ValueError("; ".join(reading.complaints))
    calendar = reading.calendar
    times = [timedelta(hours=hour, minutes=minute) for hour in calendar.hours for minute in calendar.minutes]
    gaps = [after - before for before, after in pairwise(times)]
    if _two_days_running(calendar):
        gaps.append(times[0] + DAY - times[-1])
    for change in () if schedule.zone is None else wall_clock(schedule.zone).changes(FROM, UNTIL):
        before, after = schedule.previous(change.instant - MOMENT), schedule.next(change.instant - MOMENT)
        if before is not None and after is not None:
            gaps.append(after - before)
    return min(gaps, default=timedelta.max)


def _two_days_running(calendar: Calendar) -> bool:
    """Whether a due day ever follows another."""
    wall = calendar.at_or_after(FROM.replace(tzinfo=None))
    while wall is not None and wall < UNTIL.replace(tzinfo=None):
        day_after = wall.date() + DAY
        wall = calendar.at_or_after(datetime.combine(day_after, time()))
        if wall is not None and wall.date() == day_after:
            return True
    return False
