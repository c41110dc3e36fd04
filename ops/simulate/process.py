"""One simulated process: what it works on, and how far it has come."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from handlers.declaration.job import Job
from handlers.declaration.placement import START_AND_STOP_MARGIN, place
from handlers.guard.answers import Claimed
from handlers.guard.lock import lock_key
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest
from handlers.runtime.identity import Delivery, Identity
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET

# As in the Lambda entry: a job is ended this much before Lambda ends its process.
RESERVE = timedelta(seconds=10)
BEATS_PER_LEASE = 3


@dataclass(slots=True, eq=False)
class Process:
    """A process that was started for a run. ends_at: when Lambda would end it; a Fargate task has no such time.

    step: counts what it has begun, so that what was planned for an earlier step is known to be over.
    """

    job: Job
    guard: Guard
    request: ClaimRequest
    ends_at: datetime | None
    first_no: datetime | None = None
    claimed: Claimed | None = None
    leased_until: datetime | None = None
    step: int = 0

    def left(self, now: datetime) -> timedelta | None:
        """How long it has from now on, None when it has no end of its own."""
        return None if self.ends_at is None else self.ends_at - now

    def has_time_for_another(self, now: datetime) -> bool:
        """Whether a whole run still fits."""
        left = self.left(now)
        return left is None or left >= self.job.longest_run

    def last_beat(self, now: datetime, lease: timedelta) -> datetime:
        """When its heart last beat, of an attempt that goes on."""
        began = self._began()
        return began + (now - began) // (lease / BEATS_PER_LEASE) * (lease / BEATS_PER_LEASE)

    def next_beat(self, now: datetime, lease: timedelta) -> datetime:
        """When its heart will beat next."""
        return self.last_beat(now, lease) + lease / BEATS_PER_LEASE

    def _began(self) -> datetime:
        if self.claimed is None:
            raise RuntimeError(f"a process of {self.job.name} has no attempt")
        return self.claimed.began_at


def end_of_process(job: Job, now: datetime) -> datetime | None:
    """When a process that starts now has to have ended."""
    return now + job.longest_run + START_AND_STOP_MARGIN - RESERVE if place(job).compute == "lambda" else None


def claim_request(job: Job, delivery: Delivery, identity: Identity, *, holder: str, lease: timedelta) -> ClaimRequest:
    """What a process asks the ledger for, as the runtime does."""
    return ClaimRequest(
        job=job.name,
        run_key=identity.run_key,
        tick=identity.tick,
        trigger=delivery.trigger,
        holder=holder,
        compute=f"{place(job).compute}:simulated",
        lease=lease,
        payload=delivery.payload,
        partition=delivery.partition,
        own_lock_key=lock_key(f"{job.name} {identity.run_key}") if job.overlap == "allow" else None,
        overlap=job.overlap,
        on_lost=job.on_lost,
        lost_budget=INFRASTRUCTURE_BUDGET,
    )
