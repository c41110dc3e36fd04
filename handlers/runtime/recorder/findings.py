"""What an event says, in the ledger's words."""

from dataclasses import dataclass
from datetime import datetime

from handlers.runtime.identity import Delivery


@dataclass(frozen=True, slots=True)
class Tried:
    """A start that came to nothing, unless a run was claimed by it.

    attempts: how many the run had had when the start was ordered. ordered_at: when that was. Each is None where the
    event does not say.
    """

    delivery: Delivery
    attempts: int | None = None
    ordered_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Over:
    """A task or a call is over, and holds no run any more.

    compute: its name in the ledger, such as `fargate:TASK`. why: one line for the ledger. advice: what a person may do
    about it. tried: what it was started for; None where an end without a claim is in order. run_id: the run that its
    start named, None where it named none. worker: it took messages, and so has had many runs.
    """

    job: str
    compute: str
    why: str
    advice: str
    tried: Tried | None
    run_id: int | None = None
    worker: bool = False


@dataclass(frozen=True, slots=True)
class NotStarted:
    """AWS did not take the order to start a run: there is no task, and no call. why, advice: see Over."""

    job: str
    why: str
    advice: str
    tried: Tried


Finding = Over | NotStarted
