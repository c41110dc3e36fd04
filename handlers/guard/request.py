"""What a holder asks the ledger for, and what it reports at the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

Outcome = Literal["succeeded", "failed", "timed_out", "interrupted", "cancelled", "lost"]
# running: the attempt is over, and the run waits for those that it has sent out.
Status = Literal["succeeded", "failed", "pending", "unknown", "cancelled", "running"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """Who wants to work on which run, and what the job's policies say.

    partition: the part of the job that is locked apart from the others.
    log_link: where a person reads what the attempt prints.
    own_lock_key: the key to lock instead of the job's or the partition's, for runs that may overlap.
    lost_budget: how often a run may be lost before it has failed.
    """

    job: str
    run_key: str
    tick: datetime | None
    trigger: str
    holder: str
    compute: str
    lease: timedelta
    log_link: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    partition: str | None = None
    own_lock_key: int | None = None
    overlap: Literal["skip", "queue", "replace", "allow"] = "skip"
    on_lost: Literal["retry", "hold"] = "retry"
    lost_budget: int = 5

    @property
    def lock_owner(self) -> str:
        """Whose lock key in the ledger is taken: the job's, or its partition's; no job's name has a slash."""
        return self.job if self.partition is None else f"{self.job}/{self.partition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an attempt ended (`outcome`), what becomes of its run (`status`), and which tick comes next.

    retry_in: when `status` is pending, how long the run must wait. may_fail: when it is running, the share of its
    children that may. next_key, next_tick: the row to plan, if any.
    """

    outcome: Outcome
    status: Status
    result: Any = None
    error: str | None = None
    retry_in: timedelta = timedelta()
    infrastructure: bool = False
    may_fail: float | None = None
    next_key: str | None = None
    next_tick: datetime | None = None
