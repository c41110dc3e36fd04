"""What is to be simulated, as one frozen record."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from ops.simulate.faults import Faults
from ops.simulate.outages import Outages

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """From `start` (included) to `end` (not included), aware UTC, whole minutes.

    takes: the part of its `longest_run` that each attempt goes on; one that dies does so half way.
    clock: no bells; a scheduler of our own starts what is due. Else EventBridge rings, and a watchdog looks after it.
    every_pass: let the scheduler look at every minute, also when there is nothing to see.
    """

    catalogue: Catalogue
    start: datetime
    end: datetime
    outages: Outages = field(default_factory=Outages)
    faults: Faults = field(default_factory=Faults)
    takes: float = 0.1
    clock: bool = False
    every_pass: bool = False

    def on_time(self, job: Job) -> timedelta:
        """How long after its tick a run is left to whoever starts it in the regular way."""
        return self.on_time_but_for_spread(job) + (timedelta() if self.clock else job.spread)

    def on_time_but_for_spread(self, job: Job) -> timedelta:
        """The same as a pass is told it, which adds the job's spread itself."""
        return MINUTE if self.clock else job.start_within
