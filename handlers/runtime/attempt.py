"""One claimed attempt, from its first heartbeat to its record in the ledger."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from handlers.declaration.job import Job
from handlers.declaration.run_key import tick_key
from handlers.guard.answers import Claimed
from handlers.guard.errors import DatabaseUnavailable, Fenced, one_line
from handlers.guard.lease import Lease
from handlers.guard.once import Guard
from handlers.guard.request import Ending
from handlers.runtime.context import Context
from handlers.runtime.observer import Beat, Ended, RunEvent, RunFacts, Started, Unrecorded
from handlers.runtime.perform import Performed, interrupted, perform
from handlers.runtime.report import EXIT_CODES, Report, Result
from handlers.runtime.retry import Decision, after, full_jitter
from handlers.runtime.supervisor import Interruption, Supervisor

# An interrupted job has this many seconds to come back before the process ends under it.
GRACE = 5.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt needs. time_left: seconds this process has for it, None when it has no end of its own."""

    job: Job
    run: RunFacts
    claimed: Claimed
    guard: Guard
    context: Context
    tell: Callable[[RunEvent], None]
    time_left: float | None
    began: float = field(default_factory=time.monotonic)

    def carry_out(self) -> tuple[Report, Decision, Performed]:
        """Perform the job and record how that ended. Raises nothing of the job's, and no database error."""
        delay = self.claimed.start_delay
        # A tick is late once, with its first attempt; one that is tried again was not late for that.
        first = self.claimed.attempt == 1 and self.run.tick is not None
        self.tell(Started(self.run, delay, late=first and delay > self.job.late_after.total_seconds()))
        performed = self._supervised()
        decision = self._decide(performed)
        return self._record(performed, decision), decision, performed

    def _supervised(self) -> Performed:
        limits = [self.job.longest_run.total_seconds()] + ([] if self.time_left is None else [self.time_left])
        supervisor = Supervisor(
            deadline=max(0.0, min(limits)),
            stop=self.context.stop,
            stop_within=self.job.stop_within.total_seconds(),
            grace=GRACE,
            give_up=self._give_up,
        )
        lease = Lease(
            self.guard,
            self.claimed,
            progress=lambda: {"done": self.context.done, "total": self.context.total},
            on_beat=lambda: self._beat(supervisor),
            on_lost=lambda text: supervisor.interrupt("lease", text),
            on_cancel=lambda text: supervisor.interrupt("cancel", text),
        )
        try:
            with lease, supervisor:
                return perform(self.job.target, self.context)
        except Interruption as late:
            # It struck between the job's return and the end of the supervision.
            supervisor.end()
            return interrupted(late, time.monotonic() - self.began)

    def _beat(self, supervisor: Supervisor) -> None:
        self.tell(Beat(self.run, self.context.done, self.context.total))
        with suppress(DatabaseUnavailable):  # then the lease is what ends the job
            if text := self.context.lost_answer():
                supervisor.interrupt("lease", text)

    def _decide(self, performed: Performed) -> Decision:
        return after(
            performed.outcome,
            self.job,
            attempt=self.claimed.attempt,
            infra_failures=self.claimed.infra_failures,
            fatal=performed.fatal,
            jitter=full_jitter(),
            asked_wait=performed.asked_wait,
            waits_for_children=self.context.may_fail is not None,
        )

    def _record(self, performed: Performed, decision: Decision) -> Report:
        """Write the end into the ledger. That this fails never hides the job's own error."""
        error = None if performed.error is None else f"{type(performed.error).__name__}: {one_line(performed.error)}"
        # The tick after now: those between an old tick and now are for a catch-up to judge, and not simply due.
        # By the database's clock: this machine's may be wrong.
        now = self.claimed.began_at + timedelta(seconds=time.monotonic() - self.began)
        next_tick = None if self.run.tick is None else self.job.schedule.next(max(self.run.tick, now))
        ending = Ending(
            outcome=performed.outcome,
            status=decision.status,
            result=performed.value,
            error=error,
            retry_in=decision.wait,
            infrastructure=performed.outcome in ("lost", "interrupted"),
            may_fail=self.context.may_fail if decision.status == "running" else None,
            next_key=None if next_tick is None else tick_key(next_tick),
            next_tick=next_tick,
        )
        result, because = _result(performed, decision), decision.because
        # Told before it is recorded: should the database keep us waiting and the process die, the metric is out.
        self.tell(Ended(self.run, performed.outcome, decision.status, because, performed.seconds, performed.error))
        try:
            self.guard.finish(self.claimed, ending)
        except Fenced as fenced:
            self.tell(Unrecorded(self.run, fenced=True, reason=str(fenced)))
            result, because = Result.FENCED, str(fenced)
        except DatabaseUnavailable as unavailable:
            self.tell(Unrecorded(self.run, fenced=False, reason=str(unavailable)))
            if performed.error is None:
                result, because = Result.UNAVAILABLE, str(unavailable)
        return Report(
            self.run.job,
            self.run.run_key,
            result,
            because,
            run_id=self.run.run_id,
            attempt=self.run.attempt,
            value=performed.value,
            error=error,
            status=decision.status if result not in (Result.FENCED, Result.UNAVAILABLE) else None,
            retry_in=decision.wait if decision.status == "pending" else None,
        )

    def _give_up(self, interruption: Interruption) -> None:
        """The job does not come back: record that from here and end the process, which ends the job."""
        performed = interrupted(interruption, time.monotonic() - self.began)
        report = self._record(performed, self._decide(performed))
        sys.stdout.flush()
        os._exit(EXIT_CODES[report.result])


def _result(performed: Performed, decision: Decision) -> Result:
    match performed.outcome, decision.status:
        case "succeeded", _:
            return Result.SUCCEEDED
        case "timed_out", _:
            return Result.TIMED_OUT
        case _, "cancelled":
            return Result.CANCELLED
        case "interrupted", "pending":
            return Result.INTERRUPTED
        case _, "pending":
            return Result.RETRY_LATER
        case _, "unknown":
            return Result.UNKNOWN
    return Result.FAILED
