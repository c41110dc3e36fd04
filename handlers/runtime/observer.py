"""What is told about a run while it goes on. Metrics, logs and the console listen to the same records."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from handlers.guard.answers import Refusal


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Which run, and which attempt of it (0 before one is claimed)."""

    job: str
    run_key: str
    tick: datetime | None
    trigger: str
    run_id: int = 0
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt begins, `delay` seconds after the run was due. late: later than the job's `late_after` allows."""

    run: RunFacts
    delay: float
    late: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """The ledger said no."""

    run: RunFacts
    answer: Refusal


@dataclass(frozen=True, slots=True)
class Beat:
    """The attempt is alive, with `done` of `total` items behind it (total None when the job did not say)."""

    run: RunFacts
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The attempt ended after `seconds`; the run is now in `status`, `because`; the error is the job's own."""

    run: RunFacts
    outcome: str
    status: str
    because: str
    seconds: float
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """The end of the attempt could not be written: it was fenced, or the database is out of reach."""

    run: RunFacts
    fenced: bool
    reason: str


RunEvent = Started | Refused | Beat | Ended | Unrecorded


class Observer(Protocol):
    """Told of every event, from the main thread and from the heartbeat's."""

    def __call__(self, event: RunEvent) -> None:
        """Take note of it. Must not raise."""
