"""When a clock looks at the ledger again, and whether time went by as it should: pure functions."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from handlers.planning.carry_out import CALL_AGAIN

MINUTE = timedelta(minutes=1)
# What is due and was not started in this pass will not be so in the next moment either.
SOON = timedelta(milliseconds=200)
# A step that is no more than this is what synchronised clocks make every day.
STEP = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment on two clocks: the database's, which people set and machines sleep through, and a monotonic one.

    steady: seconds.
    """

    database: datetime
    steady: float


def until_next_look(at: datetime, *, coming: datetime | None, contended: bool) -> float:
    """Seconds from a pass `at` to the next: at the full minute, or before when something is due before.

    coming: when that is. contended: another scheduler has called a run, and may die before it has started it.
    """
    wait = MINUTE - timedelta(seconds=at.second, microseconds=at.microsecond)
    if coming is not None:
        wait = min(wait, max(SOON, coming - at))
    return (min(wait, CALL_AGAIN) if contended else wait).total_seconds()


def jump(before: Moment, after: Moment) -> timedelta | None:
    """How much further the database's clock has gone than the monotonic one; None when they agree.

    A machine that sleeps stops the monotonic clock (clock_gettime(2), CLOCK_MONOTONIC), and a clock that is set moves
    the other.
    """
    gone = after.database - before.database - timedelta(seconds=after.steady - before.steady)
    return gone if abs(gone) > STEP else None
