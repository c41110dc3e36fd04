"""Whether a "no" of the ledger is worth waiting for: a pure function with its reason."""

from dataclasses import dataclass

from handlers.declaration.job import Job
from handlers.guard.answers import Busy, Overlap, Refusal

# The lease ends by the database's clock; waiting a little longer (seconds) finds it ended at the first look.
LEASE_MARGIN = 0.5
# How often (seconds) a run that goes on elsewhere is looked at: one small query.
LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Patience:
    """Ask again after `wait` seconds; before that, ask the run `stop_run`, if there is one, to end."""

    wait: float
    because: str
    stop_run: int | None = None


def patience(job: Job, answer: Refusal, *, waited: float, lease: float) -> Patience | None:
    """What to wait for, None when the answer is final. waited: seconds since the first no. lease: in seconds."""
    match answer:
        case Busy(alive=False, lease_left=left):
            # Without this the run would be lost: this delivery may be the last one of its tick.
            return Patience(left + LEASE_MARGIN, "its holder's session has ended and its lease will")
        case Busy() if job.on_duplicate == "wait" and waited < job.longest_run.total_seconds() + lease:
            return Patience(LOOK_EVERY, "the result of the delivery before is wanted")
        case Overlap(newer=False, other_run_id=other) if job.overlap == "replace":
            # A heartbeat carries the wish to the holder, which may use its time to stop.
            if waited < lease + job.stop_within.total_seconds():
                return Patience(LOOK_EVERY, "it is to be replaced", stop_run=other)
    return None
