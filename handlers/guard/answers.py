"""What the ledger answers to a claim. Each "no" is a normal outcome, not an error."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Claimed:
    """The run is this holder's, for attempt `attempt`, until its lease ends or a higher fence is given out.

    Every write compares fence and holder: a standby that has lost the last of its primary's log on the way may give out
    a number of the fence's sequence again, but never to a holder of the same name.
    """

    run_id: int
    lock_key: int
    attempt: int
    infra_failures: int
    fence: int
    holder: str
    tick: datetime | None
    checkpoint: Any
    payload: dict[str, Any]
    start_delay: float
    """Seconds between the time the run was due and its start, on the database's clock."""
    began_at: datetime
    """When the attempt began, on the database's clock."""
    parent_id: int | None = None
    """The run that this one is a part of."""


@dataclass(frozen=True, slots=True)
class AlreadyDone:
    """The run has ended before: `status` is succeeded, failed, skipped or cancelled."""

    run_id: int
    status: str
    reason: str | None
    result: Any


@dataclass(frozen=True, slots=True)
class Busy:
    """The same run is being worked on elsewhere."""

    holder: str
    until: datetime | None
    lease_left: float
    """Seconds until the lease ends, on the database's clock; 0 where it isn't known."""
    alive: bool
    """False when the holder's database session has ended: it has died, or has lost its link and will be fenced."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Another run of the same job or partition is going on."""

    other_run_id: int
    other_run_key: str
    holder: str
    newer: bool
    """Whether the other run's tick is later than that of the one refused."""
    catching_up: bool = False
    """Whether the other run makes up for a tick that was missed."""


@dataclass(frozen=True, slots=True)
class Queued:
    """Another run of the same job or partition is going on; this one waits in the ledger and runs after it."""

    other_run_key: str


@dataclass(frozen=True, slots=True)
class OtherPayload:
    """The key is taken by a run with another payload: a sender uses it for two different things."""

    run_id: int


@dataclass(frozen=True, slots=True)
class Paused:
    """A person has paused the job."""

    since: datetime


@dataclass(frozen=True, slots=True)
class NotDue:
    """The run waits for its time, such as the end of a retry's backoff."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Held:
    """The run's effects are unknown and a person must say what became of it."""

    run_id: int


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The run was lost once too often and has now failed."""

    run_id: int
    infra_failures: int


Refusal = AlreadyDone | Busy | Overlap | Queued | OtherPayload | Paused | NotDue | Held | Exhausted
Answer = Claimed | Refusal
