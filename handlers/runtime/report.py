"""The result of running a job, and the exit code a task gives it."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from handlers.guard.answers import (
    AlreadyDone,
    Busy,
    Exhausted,
    Held,
    NotDue,
    OtherPayload,
    Overlap,
    Paused,
    Queued,
    Refusal,
)


class Result(StrEnum):
    """What came of one start of a job."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RETRY_LATER = "retry_later"
    TIMED_OUT = "timed_out"
    FENCED = "fenced"
    UNKNOWN = "unknown"
    ALREADY_DONE = "already_done"
    BUSY = "busy"
    OVERLAP = "overlap"
    QUEUED = "queued"
    OTHER_PAYLOAD = "other_payload"
    CANCELLED = "cancelled"
    PAUSED = "paused"
    NOT_DUE = "not_due"
    HELD = "held"
    EXHAUSTED = "exhausted"
    UNAVAILABLE = "unavailable"
    INTERRUPTED = "interrupted"


# The table in README.md, "Outcomes". 128 + 15 is what a shell says of a process that SIGTERM ended.
EXIT_CODES = {
    Result.SUCCEEDED: 0,
    Result.FAILED: 1,
    Result.RETRY_LATER: 3,
    Result.TIMED_OUT: 4,
    Result.FENCED: 5,
    Result.UNKNOWN: 6,
    Result.ALREADY_DONE: 10,
    Result.BUSY: 11,
    Result.OVERLAP: 12,
    Result.PAUSED: 13,
    Result.HELD: 15,
    Result.EXHAUSTED: 16,
    Result.NOT_DUE: 17,
    Result.QUEUED: 18,
    Result.OTHER_PAYLOAD: 19,
    Result.CANCELLED: 20,
    Result.UNAVAILABLE: 69,
    Result.INTERRUPTED: 143,
}
EXIT_BAD_INPUT = 2
EXIT_SCHEMA_TOO_OLD = 70

_REFUSALS: dict[type, Result] = {
    AlreadyDone: Result.ALREADY_DONE,
    Busy: Result.BUSY,
    Overlap: Result.OVERLAP,
    Queued: Result.QUEUED,
    OtherPayload: Result.OTHER_PAYLOAD,
    Paused: Result.PAUSED,
    NotDue: Result.NOT_DUE,
    Held: Result.HELD,
    Exhausted: Result.EXHAUSTED,
}

# Nothing to tell anybody about: the work was done, is being done, or waits as it should.
QUIET = frozenset(
    {
        Result.SUCCEEDED,
        Result.ALREADY_DONE,
        Result.BUSY,
        Result.OVERLAP,
        Result.QUEUED,
        Result.CANCELLED,
        Result.PAUSED,
        Result.NOT_DUE,
    }
)


DUPLICATES = frozenset({Result.ALREADY_DONE, Result.BUSY})


@dataclass(frozen=True, slots=True)
class Report:
    """What came of the start, for which run. attempt is 0 where none was claimed; error is one line.

    status: what the ledger says of the run now, where this start has looked or has written it. retry_in: when that is
    pending, how long it must wait.
    """

    job: str
    run_key: str
    result: Result
    because: str
    run_id: int = 0
    attempt: int = 0
    value: Any = None
    error: str | None = None
    status: str | None = None
    retry_in: timedelta | None = None

    @property
    def exit_code(self) -> int:
        """What a task's process exits with."""
        return EXIT_CODES[self.result]


def refused(job: str, run_key: str, answer: Refusal) -> Report:
    """The report of a claim that got a no."""
    result = _REFUSALS[type(answer)]
    value = answer.result if isinstance(answer, AlreadyDone) else None
    run_id = answer.run_id if isinstance(answer, AlreadyDone | Held | Exhausted | OtherPayload) else 0
    status = answer.status if isinstance(answer, AlreadyDone) else None
    return Report(job, run_key, result, describe(answer), run_id=run_id, value=value, status=status)


def describe(answer: Refusal) -> str:
    """The refusal as a sentence."""
    match answer:
        case AlreadyDone(status=status, reason=reason):
            did = "was" if status in ("skipped", "cancelled") else "has"
            return f"the run {did} {status}" + (f": {reason}" if reason else "")
        case Busy(holder=holder, alive=alive):
            return f"{holder} is working on this run" + ("" if alive else ", though its session has ended")
        case Overlap(other_run_key=other, holder=holder):
            return f"run {other} of the same job is going on at {holder}"
        case Queued(other_run_key=other):
            return f"it waits in the ledger until run {other} has ended"
        case OtherPayload(run_id=run_id):
            return f"run {run_id} has the same key and another payload: give each piece of work a key of its own"
        case Paused(since=since):
            return f"the job has been paused since {since:%Y-%m-%d %H:%M} UTC"
        case NotDue(until=until):
            return f"the run waits until {until:%Y-%m-%d %H:%M:%S} UTC"
        case Held():
            return "nobody knows whether the run had its effects: a person must resolve it"
        case Exhausted(infra_failures=count):
            return f"the run was lost more than {count} times and has failed"
