"""Run a job: claim its run, carry out an attempt, and try again where that is this process's business."""

import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from aws_lambda_powertools.logging import Logger

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.guard.answers import Claimed
from handlers.guard.lock import lock_key
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest
from handlers.guard.yielding import Waiting
from handlers.runtime.attempt import Attempt
from handlers.runtime.context import Context
from handlers.runtime.database import connection_strings
from handlers.runtime.follow_up import FollowUp
from handlers.runtime.identity import Delivery, Identity, MalformedDelivery, identify, identify_by_minute
from handlers.runtime.observer import Observer, Refused, RunEvent, RunFacts
from handlers.runtime.outlet import Outlet
from handlers.runtime.patience import patience
from handlers.runtime.report import Report, Result, refused
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET, fits_in_process
from handlers.runtime.settings import Settings
from handlers.runtime.stop import Stop
from handlers.schedule import SCHEDULE

# Whether this process has said that it works behind a pooler: once is enough for all its runs.
_SAID_POOLED: list[bool] = []


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs deliveries in this process, one at a time.

    compute: what this process runs on, for the ledger. log_link: where a person reads what it prints. ends_at: when it
    must be done, on the monotonic clock; None when it has no end of its own. waits: whether it waits in this process
    for what a later start would find as well, such as the end of a backoff; a consumer of messages does not.
    """

    settings: Settings
    observers: Sequence[Observer]
    log: Logger
    stop: Stop
    compute: str
    ends_at: float | None = None
    log_link: str | None = None
    waits: bool = True
    catalogue: Catalogue = SCHEDULE

    def run(self, job: Job, delivery: Delivery) -> Report:
        """Run the job until its run has ended, waits in the ledger, or is not ours.

        Raises DatabaseUnavailable and SchemaTooOld when the ledger cannot be asked at all, MalformedDelivery when the
        run that it names is not there.
        """
        connect = connection_strings(self.settings.database)
        with Guard(connect, lease=self.settings.lease, name=f"shiftlock {job.name} guard") as guard:
            self._say_once_if_pooled(guard)
            request = self._first(job, delivery, guard)
            report, lock_key = self._until_ended(job, guard, request)
            while _may_have_a_line(job, request) and lock_key is not None and self._has_time_for(job):
                waiting = guard.next_in_line(lock_key)
                if waiting is None:
                    break
                request = self._again(job, waiting, waiting.trigger)
                _, lock_key = self._until_ended(job, guard, request)
            return report

    def _first(self, job: Job, delivery: Delivery, guard: Guard) -> ClaimRequest:
        if delivery.run_id is None:
            other = identify_by_minute(job, delivery)
            known = other is not None and guard.has_run(job.name, other.run_key)
            return self._request(job, delivery, other if other and known else identify(job, delivery))
        run = guard.run_by_id(job.name, delivery.run_id)
        if run is None:
            raise MalformedDelivery(f"run is {delivery.run_id}: the ledger has no such run of {job.name}")
        return self._again(job, run, delivery.trigger)

    def _again(self, job: Job, run: Waiting, trigger: str) -> ClaimRequest:
        key = run.run_key if run.trigger == "queue" else None
        delivery = Delivery(trigger, run.tick, run.payload, run.partition, key=key)
        return self._request(job, delivery, Identity(run.run_key, run.tick))

    def _until_ended(self, job: Job, guard: Guard, request: ClaimRequest) -> tuple[Report, int | None]:
        """The report of the run, and the lock key it had if it was ours."""
        first_no: float | None = None
        while True:
            answer = guard.claim(request)
            if isinstance(answer, Claimed):
                report, wait = self._attempt(job, _facts(request, answer), answer, guard)
                if wait is None or self.stop.wait(wait.total_seconds()):
                    return report, answer.lock_key
                continue
            if not self.waits:
                self._tell(Refused(_facts(request), answer))
                return refused(job.name, request.run_key, answer), None
            first_no = first_no or time.monotonic()
            waited = time.monotonic() - first_no
            more = patience(job, answer, waited=waited, lease=self.settings.lease.total_seconds())
            if more is not None and more.stop_run is not None:
                guard.ask_to_stop(more.stop_run, f"replaced by run {request.run_key}")
            if more is None or not self._waits(more.wait):
                self._tell(Refused(_facts(request), answer))
                return refused(job.name, request.run_key, answer), None

    def _request(self, job: Job, delivery: Delivery, identity: Identity) -> ClaimRequest:
        return ClaimRequest(
            job=job.name,
            run_key=identity.run_key,
            tick=identity.tick,
            trigger=delivery.trigger,
            # Not the host alone: after a restart that is the same, but the holder is not.
            holder=f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}",
            compute=self.compute,
            log_link=self.log_link,
            lease=self.settings.lease,
            payload=delivery.payload,
            partition=delivery.partition,
            own_lock_key=lock_key(f"{job.name} {identity.run_key}") if _apart(job, delivery) else None,
            # Where messages meet, the later ones wait: none of them is a moment that can be missed.
            overlap=job.overlap if delivery.key is None else "skip",
            on_lost=job.on_lost,
            lost_budget=INFRASTRUCTURE_BUDGET,
        )

    def _attempt(self, job: Job, run: RunFacts, claimed: Claimed, guard: Guard) -> tuple[Report, timedelta | None]:
        """Carry out one attempt; its report, and how long to wait before this process tries again, if it should."""
        outlet = Outlet(self.catalogue, self.settings.queues, self.settings.files)
        context = Context(run, claimed, guard, self.stop, self.log, outlet)
        attempt = Attempt(job, run, claimed, guard, context, self._tell, self._left())
        report, decision, performed = attempt.carry_out()
        FollowUp(guard, self.settings, self.catalogue, self.log, self.ends_at).after(job, claimed, context, report)
        if not self.waits:
            return report, None
        if report.result is not Result.RETRY_LATER:
            return report, None
        left = self._left()
        fits = fits_in_process(
            decision.wait, timedelta(seconds=performed.seconds), None if left is None else timedelta(seconds=left)
        )
        return report, decision.wait if fits else None

    def _waits(self, seconds: float) -> bool:
        """Wait that long; False when this process ends before."""
        left = self._left()
        return (left is None or seconds < left) and not self.stop.wait(seconds)

    def _has_time_for(self, job: Job) -> bool:
        left = self._left()
        return not self.stop.is_set() and (left is None or left >= job.longest_run.total_seconds())

    def _say_once_if_pooled(self, guard: Guard) -> None:
        if guard.row_only and not _SAID_POOLED:
            _SAID_POOLED.append(True)
            self.log.warning(
                "the database is behind a transaction pooler: runs are guarded by their rows alone, and a dead holder "
                "is noticed at the end of its lease; give the guard a direct connection to notice it at once"
            )

    def _left(self) -> float | None:
        return None if self.ends_at is None else self.ends_at - time.monotonic()

    def _tell(self, event: RunEvent) -> None:
        for observer in self.observers:
            observer(event)


def _apart(job: Job, delivery: Delivery) -> bool:
    """Whether the run overlaps with all others of the job: how many messages are worked on at once is the queue's.

    Those of a partition go one at a time, whatever the job allows its ticks.
    """
    return job.overlap == "allow" if delivery.key is None else delivery.partition is None


def _may_have_a_line(job: Job, request: ClaimRequest) -> bool:
    """Whether another run may wait for this one; to look is a round trip."""
    return job.overlap == "queue" or request.trigger == "catch-up"


def _facts(request: ClaimRequest, claimed: Claimed | None = None) -> RunFacts:
    return RunFacts(
        request.job,
        request.run_key,
        request.tick if claimed is None else claimed.tick,
        request.trigger,
        run_id=0 if claimed is None else claimed.run_id,
        attempt=0 if claimed is None else claimed.attempt,
    )
