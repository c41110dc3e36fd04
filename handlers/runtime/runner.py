"""Run a job: claim its run, carry out an attempt, and try again where that is this process's business."""

import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from aws_lambda_powertools.logging import Logger

from handlers.declaration.job import Job
from handlers.guard.answers import Busy, Claimed
from handlers.guard.lock import lock_key
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest
from handlers.runtime.attempt import Attempt
from handlers.runtime.context import Context
from handlers.runtime.database import connection_strings
from handlers.runtime.identity import Delivery, Identity, identify
from handlers.runtime.observer import Observer, Refused, RunEvent, RunFacts
from handlers.runtime.report import Report, Result, refused
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET, fits_in_process
from handlers.runtime.settings import Settings
from handlers.runtime.stop import Stop

# The lease ends by the database's clock; waiting a little longer (seconds) finds it ended at the first look.
LEASE_MARGIN = 0.5


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs deliveries in this process, one at a time.

    compute: what this process runs on, for the ledger. ends_at: when it must be done, on the monotonic clock; None
    when it has no end of its own.
    """

    settings: Settings
    observers: Sequence[Observer]
    log: Logger
    stop: Stop
    compute: str
    ends_at: float | None = None

    def run(self, job: Job, delivery: Delivery) -> Report:
        """Run the job until its run has ended, waits in the ledger, or is not ours.

        Raises DatabaseUnavailable and SchemaTooOld when the ledger cannot be asked at all.
        """
        identity = identify(job, delivery)
        request = self._request(job, delivery, identity)
        connect = connection_strings(self.settings.database)
        with Guard(connect, lease=self.settings.lease, name=f"shiftlock {job.name} guard") as guard:
            while True:
                answer = guard.claim(request)
                if isinstance(answer, Claimed):
                    report, wait = self._attempt(job, _facts(request, answer), answer, guard)
                    if wait is None or self.stop.wait(wait.total_seconds()):
                        return report
                # A dead holder's lease is waited out, so that this delivery takes the run over instead of being lost.
                elif not (isinstance(answer, Busy) and not answer.alive and self._outlives(answer)):
                    self._tell(Refused(_facts(request), answer))
                    return refused(job.name, identity.run_key, answer)

    def _request(self, job: Job, delivery: Delivery, identity: Identity) -> ClaimRequest:
        return ClaimRequest(
            job=job.name,
            run_key=identity.run_key,
            tick=identity.tick,
            trigger=delivery.trigger,
            # Not the host alone: after a restart that is the same, but the holder is not.
            holder=f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}",
            compute=self.compute,
            lease=self.settings.lease,
            payload=delivery.payload,
            own_lock_key=lock_key(f"{job.name}/{identity.run_key}") if job.overlap == "allow" else None,
            on_lost=job.on_lost,
            lost_budget=INFRASTRUCTURE_BUDGET,
        )

    def _attempt(self, job: Job, run: RunFacts, claimed: Claimed, guard: Guard) -> tuple[Report, timedelta | None]:
        """Carry out one attempt; its report, and how long to wait before this process tries again, if it should."""
        context = Context(run, claimed, guard, self.stop, self.log)
        attempt = Attempt(job, run, claimed, guard, context, self._tell, self._left())
        report, decision, performed = attempt.carry_out()
        if report.result is not Result.RETRY_LATER:
            return report, None
        left = self._left()
        fits = fits_in_process(
            decision.wait, timedelta(seconds=performed.seconds), None if left is None else timedelta(seconds=left)
        )
        return report, decision.wait if fits else None

    def _outlives(self, busy: Busy) -> bool:
        """Wait until the lease has ended; False when this process ends before."""
        wait = busy.lease_left + LEASE_MARGIN
        left = self._left()
        return (left is None or wait < left) and not self.stop.wait(wait)

    def _left(self) -> float | None:
        return None if self.ends_at is None else self.ends_at - time.monotonic()

    def _tell(self, event: RunEvent) -> None:
        for observer in self.observers:
            observer(event)


def _facts(request: ClaimRequest, claimed: Claimed | None = None) -> RunFacts:
    return RunFacts(
        request.job,
        request.run_key,
        request.tick if claimed is None else claimed.tick,
        request.trigger,
        run_id=0 if claimed is None else claimed.run_id,
        attempt=0 if claimed is None else claimed.attempt,
    )
