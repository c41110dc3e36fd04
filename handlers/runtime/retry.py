"""What becomes of a run after an attempt: pure functions that return a decision and its reason."""

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from handlers.declaration.job import Job

AttemptOutcome = Literal["succeeded", "failed", "timed_out", "interrupted", "lost", "cancelled"]

# A task that is stopped, or loses its database, is not the job's fault and uses up no attempt, but not for ever.
INFRASTRUCTURE_BUDGET = 5

# Longer waits than this are left to the ledger: nobody should pay a container for sleeping.
LONGEST_WAIT_IN_PROCESS = timedelta(seconds=60)
# What waits longer is a job of its own, with a schedule.
LONGEST_WAIT = timedelta(hours=24)


class Fatal(Exception):
    """Raised by a job to say that another attempt would fail too: the run fails at once."""


class TryLater(Exception):
    """Raised by a job that knows how long another attempt would fail too: what it calls has said so, for instance.

    The attempt is used up like any other that failed, and the wait is this one where the backoff is shorter.
    """

    def __init__(self, message: str, wait: timedelta) -> None:
        self.wait = min(wait, LONGEST_WAIT)
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Decision:
    """The run's next status; when that is pending, the wait before it may start again.

    running: it waits for the runs that it has sent out.
    """

    status: Literal["succeeded", "failed", "pending", "unknown", "cancelled", "running"]
    because: str
    wait: timedelta = timedelta()


def after(
    outcome: AttemptOutcome,
    job: Job,
    *,
    attempt: int,
    infra_failures: int,
    fatal: bool,
    jitter: float,
    asked_wait: timedelta = timedelta(),
    waits_for_children: bool = False,
) -> Decision:
    """What follows when attempt number `attempt` ends like this.

    infra_failures: earlier attempts that ended through no fault of the job. jitter: 0 to 1, the part of the longest
    wait to take. asked_wait: what the job has asked for by TryLater.
    """
    if outcome == "succeeded" and waits_for_children:
        return Decision("running", "the job returned, and the runs that it has sent out go on")
    if outcome == "succeeded":
        return Decision("succeeded", "the job returned")
    if outcome == "cancelled":
        return Decision("cancelled", "somebody asked for its end")
    if outcome == "lost" or outcome == "interrupted":
        if outcome == "lost" and job.on_lost == "hold":
            return Decision("unknown", "its lease was lost and on_lost is hold")
        if infra_failures >= INFRASTRUCTURE_BUDGET:
            return Decision("failed", f"{outcome} {infra_failures + 1} times, which is once too often")
        return Decision("pending", f"{outcome}, which uses up no attempt")
    if outcome == "timed_out" and job.on_lost == "hold":
        return Decision("unknown", f"it passed its longest_run of {job.longest_run} and on_lost is hold")
    if fatal:
        return Decision("failed", "the job raised Fatal")
    used = attempt - infra_failures
    if used >= job.retry.attempts:
        return Decision("failed", f"attempt {used} of {job.retry.attempts} {outcome}")
    wait = max(job.retry.longest_wait(used) * jitter, asked_wait)
    return Decision("pending", f"attempt {used} of {job.retry.attempts} {outcome}", wait)


def full_jitter() -> float:
    """A random part of the longest wait, so that runs that failed together do not come back together."""
    return random.random()  # noqa: S311  # spreads load, guards no secret


def fits_in_process(wait: timedelta, took: timedelta, left: timedelta | None) -> bool:
    """Whether this process should wait and try again itself.

    took: how long the failed attempt went on. left: time until this process must end, None when it has no end.
    """
    if wait > LONGEST_WAIT_IN_PROCESS:
        return False
    return left is None or wait + took <= left
