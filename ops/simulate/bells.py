"""The doorbells of a job as AWS rings them: a rule in UTC, a schedule in a zone, each with its spread."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from handlers.declaration.job import Job
from handlers.declaration.run_key import tick_key
from handlers.declaration.spread import MINUTE, offset
from handlers.runtime.identity import Delivery
from ops.simulate.faults import Faults


@dataclass(frozen=True, slots=True)
class Bell:
    """One ring: when it comes, what it says, and the tick it is meant for."""

    at: datetime
    delivery: Delivery
    tick: datetime


def bells(job: Job, start: datetime, end: datetime, faults: Faults) -> Iterator[Bell]:
    """Yield a bell for each tick from `start` up to `end`, ascending."""
    fixed = offset(job.name, job.spread)
    for tick in job.schedule.between(start, end):
        if job.schedule.zone is None:
            # The rule's expression is moved, and its events say the later time.
            yield Bell(tick + fixed, Delivery("rule", tick + fixed), tick)
        else:
            # Scheduler picks a minute of the window, and says the time of the schedule.
            minutes = int(faults.draw("spread", job.name, tick_key(tick)) * (job.spread // MINUTE + 1))
            yield Bell(tick + minutes * MINUTE, Delivery("schedule", tick), tick)
