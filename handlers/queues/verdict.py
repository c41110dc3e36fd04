"""What becomes of a message after the start that it rang for: a pure function that returns a decision and its reason.

The ledger is the truth: a message goes as soon as the ledger alone knows all that is left to do.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from handlers.declaration.duration import hours, seconds

Deed = Literal["delete", "later", "dead", "park"]

# Somebody else has the run, or it may not start now: the ledger rings again when it may.
PARKED = frozenset({"busy", "overlap", "queued", "paused", "not_due"})
# Nothing is left to do, or it is another's: a successor's, or a person's.
SETTLED = frozenset({"succeeded", "cancelled", "fenced", "unknown", "held"})
# No attempt will come of this message, and no state of the run may say so.
HOPELESS = frozenset({"exhausted", "other_payload"})

# The ledger is out of reach: the next look, spread so that not all messages come back at once.
SOONEST, LATEST = seconds(5), seconds(30)
# SQS hides a message for at most 12 hours from its receipt on. What waits longer waits in the ledger.
LONGEST_WAIT = hours(11)


@dataclass(frozen=True, slots=True)
class Verdict:
    """deed: delete the message; show it again `later`, after `wait`; put a copy to the dead letters and delete it; or
    park it: make sure that the ledger has the run, pending and without a message, and delete it."""

    deed: Deed
    because: str
    wait: timedelta = timedelta()


def verdict(result: str, *, status: str | None, retry_in: timedelta | None, because: str, jitter: float) -> Verdict:
    """What to do with the message.

    result, status, retry_in, because: of the start's report. jitter: 0 to 1, the part of the spread to take.
    """
    if result in PARKED:
        return Verdict("park", because)
    if result in SETTLED:
        return Verdict("delete", because)
    if result in HOPELESS or status == "failed":
        return Verdict("dead", because)
    if status in ("succeeded", "skipped", "cancelled", "unknown", "running"):
        return Verdict("delete", because)
    if status == "pending":
        wait = retry_in or timedelta()
        return Verdict("later", because, wait) if wait <= LONGEST_WAIT else Verdict("park", because)
    # Only a ledger that could not be asked is silent about the run. It may have the end of it all the same: then the
    # next start is a duplicate.
    return Verdict("later", because, SOONEST + (LATEST - SOONEST) * jitter)
