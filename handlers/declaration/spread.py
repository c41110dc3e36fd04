"""Spread: jobs that are due at one minute start at different ones, each tick keeping its nominal time.

In a zone EventBridge Scheduler picks the minute (flexible time window); a rule cannot, so its expression is moved by
an offset that is drawn from the job's name, and stays the same through every deploy.
"""

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256

from handlers.declaration.cron import Cron
from handlers.declaration.duration import minutes
from handlers.declaration.gaps import shortest_gap
from handlers.declaration.shift import shifted

MINUTE = minutes(1)
# Scheduler would take up to 1,440 (API reference, FlexibleTimeWindow); a job that may come so late needs a schedule of
# its own.
LONGEST = minutes(15)
# An event may come within its minute, and one that is up to a minute early means the tick to come (runtime, identity).
CLEAR_OF_NEXT = minutes(2)


def spread_complaints(schedule: Cron, spread: timedelta) -> Iterator[str]:
    """Yield why a schedule without complaints cannot be spread so far, with what is allowed."""
    if not timedelta() <= spread <= LONGEST or spread % MINUTE:
        yield f"spread {spread}: allowed is 0 to {LONGEST // MINUTE} whole minutes"
        return
    if not spread:
        return
    gap = shortest_gap(schedule)
    if spread > gap - CLEAR_OF_NEXT:
        most = max(0, (gap - CLEAR_OF_NEXT) // MINUTE)
        yield (
            f"spread {spread}: allowed is at most {most} min where ticks are {gap // MINUTE} min apart, "
            "so that no start counts for the tick after it"
        )
        return
    most = _movable(schedule.expression, spread // MINUTE) if schedule.zone is None else spread // MINUTE
    if most < spread // MINUTE:
        yield (
            f"spread {spread}: allowed is at most {most} min, since no single expression is {schedule.expression!r} "
            f"{most + 1} min later; give the schedule a zone such as Etc/UTC, and EventBridge Scheduler spreads it"
        )


def offset(name: str, spread: timedelta) -> timedelta:
    """Whole minutes from 0 to `spread`, always the same for a job's name."""
    drawn = int.from_bytes(sha256(name.encode()).digest()[:8])
    return drawn % (spread // MINUTE + 1) * MINUTE


def rung(schedule: Cron, by: timedelta) -> Cron:
    """The schedule in UTC that rings so much later. Raises ValueError where `spread_complaints` says no."""
    expression = shifted(schedule.expression, by // MINUTE)
    if expression is None:
        raise ValueError(f"no single expression is {schedule.expression!r} {by // MINUTE} min later")
    return Cron(expression)


def _movable(expression: str, most: int) -> int:
    """How many minutes the expression can be moved, up to `most`, by each of which it is one expression still."""
    return next((by - 1 for by in range(1, most + 1) if shifted(expression, by) is None), most)
