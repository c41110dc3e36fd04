"""After how long without a success a job counts as silent, as a window that CloudWatch can watch.

Only this sees a start that was delivered and came to nothing: a task that never got its image, a rule somebody
switched off. A schedule with gaps of a week or more has no window: no alarm can look back that far.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

from handlers.declaration.cron import Cron
from handlers.declaration.job import Job

# "Amazon CloudWatch API Reference", PutMetricAlarm: period times periods is at most a day, or seven days when the
# period is an hour or more.
FINE, FINE_AT_MOST = timedelta(minutes=5), timedelta(days=1)
COARSE, COARSE_AT_MOST = timedelta(hours=1), timedelta(days=7)

# Long enough for each month and each weekday; a fixed day, so that the same table gives the same template.
SCAN_FROM = datetime(2027, 1, 1, tzinfo=UTC)
SCAN_DAYS = 400
CLOCK_CHANGE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Window:
    """So many periods without a success are too many."""

    period: timedelta
    periods: int

    @property
    def length(self) -> str:
        """The whole window in words, such as `27 h`."""
        minutes = self.period * self.periods // timedelta(minutes=1)
        return f"{minutes} min" if minutes < 120 else f"{minutes / 60:g} h"


def silence_window(job: Job) -> Window | None:
    """The window of a job: its longest gap, time to start late and to run, and one period; None when too long."""
    gap = longest_gap(job.schedule)
    if gap is None:
        return None
    clock_change = timedelta() if job.schedule.zone is None else CLOCK_CHANGE
    allowed = gap + clock_change + job.late_after + job.longest_run
    for period, at_most in ((FINE, FINE_AT_MOST), (COARSE, COARSE_AT_MOST)):
        periods = -(-allowed // period) + 1
        if period * periods <= at_most:
            return Window(period, periods)
    return None


@cache
def longest_gap(schedule: Cron) -> timedelta | None:
    """The longest time between two ticks in a year; None when the schedule has an end.

    The hours of a cron expression are the same on all days it fires: the gaps within one such day, and those over
    each midnight, are all there are.
    """
    first = schedule.next(SCAN_FROM)
    if first is None:
        return None
    gaps = []
    ticks = list(schedule.between(first, first + timedelta(days=1)))
    gaps += [after - before for before, after in pairwise(ticks)]
    for day in range(SCAN_DAYS):
        midnight = SCAN_FROM + timedelta(days=day)
        before, after = schedule.previous(midnight), schedule.next(midnight)
        if after is None:
            return None
        gaps.append(after - (before or midnight))
    return max(gaps)
