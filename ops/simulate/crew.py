"""The processes of the simulated machines: each claims its run, works for a time, and ends it or dies over it.

The ledger is asked and told through the real guard, each process over a session of its own. Only the job itself, and
the time that it takes, are not real.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Protocol

from handlers.declaration.job import Job
from handlers.declaration.run_key import tick_key
from handlers.guard.answers import Claimed, Queued
from handlers.guard.errors import Fenced
from handlers.guard.request import Ending
from handlers.guard.yielding import Waiting
from handlers.runtime.identity import Delivery, Identity, identify
from handlers.runtime.patience import patience
from handlers.runtime.retry import AttemptOutcome, after, fits_in_process
from ops.simulate.agenda import Agenda, Rank
from ops.simulate.process import Process, claim_request, end_of_process
from ops.simulate.scenario import Scenario
from ops.simulate.scratch import Scratch
from ops.simulate.sessions import Sessions


class Scheduler(Protocol):
    """Who hears of what may need a look at the ledger."""

    def wake(self, at: datetime) -> None:
        """Something may be due at this time."""

    def claimed(self, run_id: int) -> None:
        """A process has the run."""

    def lost(self, lease_end: datetime) -> None:
        """A process has died, and its lease ends then."""

    def ended(self, now: datetime) -> None:
        """A process has ended."""


class Crew:
    """All processes that live. `scheduler` must be set before the first is started. lease: as in production."""

    scheduler: Scheduler

    def __init__(self, scratch: Scratch, scenario: Scenario, agenda: Agenda, lease: timedelta) -> None:
        self._scratch, self._clock = scratch, scratch.clock
        self._scenario, self._agenda, self._lease = scenario, agenda, lease
        self._living: dict[Process, None] = {}  # in the order of their starts
        self._sessions = Sessions(scratch, lease)
        self._holders = count(1)

    def start(self, job: Job, delivery: Delivery) -> None:
        """Start a process for what rang, or for the run of the ledger that the delivery names."""
        now = self._clock.now
        guard = self._sessions.take()
        if delivery.run_id is None:
            identity = identify(job, delivery)
        else:
            run = guard.run_by_id(job.name, delivery.run_id)
            if run is None:
                raise LookupError(f"the ledger has no run {delivery.run_id} of {job.name}")
            delivery, identity = _again(run, delivery.trigger)
        request = claim_request(job, delivery, identity, holder=self._holder(), lease=self._lease)
        process = Process(job, guard, request, end_of_process(job, now))
        self._living[process] = None
        self._claim(process, now)

    def beat(self) -> None:
        """Let the leases of all that live be renewed, where the ledger would otherwise see them ended.

        A heart beats every third of a lease; only the beats that somebody could miss are carried out.
        """
        for process in self._living:
            if process.leased_until is not None and process.leased_until <= self._clock.now:
                self._renew(process)

    def die(self, now: datetime) -> None:
        """All processes die."""
        for process in list(self._living):
            self._die(process, now)

    def close(self) -> None:
        """Close all sessions."""
        self._sessions.close()

    def _claim(self, process: Process, now: datetime) -> None:
        self.beat()
        self._clock.strike()
        answer = process.guard.claim(process.request)
        if isinstance(answer, Claimed):
            self.scheduler.claimed(answer.run_id)
            self._begin(process, answer, now)
            return
        if isinstance(answer, Queued):
            self.scheduler.wake(now)
        process.first_no = process.first_no or now
        waited = (now - process.first_no).total_seconds()
        more = patience(process.job, answer, waited=waited, lease=self._lease.total_seconds())
        if more is not None and more.stop_run is not None:
            process.guard.ask_to_stop(more.stop_run, f"replaced by run {process.request.run_key}")
            self._will_hear(more.stop_run, now)
        left = process.left(now)
        if more is None or (left is not None and left <= timedelta(seconds=more.wait)):
            self._leave(process, now)
        else:
            self._later(process, now + timedelta(seconds=more.wait), Rank.CLAIM, self._claim)

    def _begin(self, process: Process, claimed: Claimed, now: datetime) -> None:
        process.claimed, process.leased_until, process.first_no = claimed, now + self._lease, None
        takes = process.job.longest_run * self._scenario.takes
        fate = self._scenario.faults.fate(process.job.name, process.request.run_key, claimed.attempt)
        if fate == "dies":
            self._later(process, now + takes / 2, Rank.END, self._die)
        elif fate == "fails":
            self._later(process, now + takes, Rank.END, lambda process, now: self._end(process, now, "failed"))
        else:
            self._later(process, now + takes, Rank.END, lambda process, now: self._end(process, now, "succeeded"))

    def _end(self, process: Process, now: datetime, outcome: AttemptOutcome) -> None:
        """Record the end of an attempt; then try again, go on with who waits, or leave."""
        job, claimed = process.job, process.claimed
        if claimed is None:
            raise RuntimeError(f"a process of {job.name} has no attempt to end")
        faults, run_key = self._scenario.faults, process.request.run_key
        jitter = faults.draw("jitter", job.name, run_key, claimed.attempt) if outcome == "failed" else 0.0
        decision = after(
            outcome,
            job,
            attempt=claimed.attempt,
            infra_failures=claimed.infra_failures,
            fatal=False,
            jitter=jitter,
        )
        next_tick = None if claimed.tick is None else job.schedule.next(max(claimed.tick, now))
        ending = Ending(
            outcome=outcome,
            status=decision.status,
            error="simulated" if outcome == "failed" else None,
            retry_in=decision.wait,
            next_key=None if next_tick is None else tick_key(next_tick),
            next_tick=next_tick,
        )
        began, process.claimed, process.leased_until = claimed.began_at, None, None
        self._clock.strike()
        try:
            process.guard.finish(claimed, ending)
        except Fenced:
            self._leave(process, now)
            return
        if decision.status == "pending":
            self.scheduler.wake(now + decision.wait)
            if fits_in_process(decision.wait, now - began, process.left(now)):
                self._later(process, now + decision.wait, Rank.CLAIM, self._claim)
                return
        self._go_on(process, claimed.lock_key, now)

    def _go_on(self, process: Process, lock_key: int, now: datetime) -> None:
        """Take on the run that waits for the one that has ended, as the runtime does."""
        job, request = process.job, process.request
        waiting = None
        if (job.overlap == "queue" or request.trigger == "catch-up") and process.has_time_for_another(now):
            waiting = process.guard.next_in_line(lock_key)
        if waiting is None:
            self._leave(process, now)
            return
        delivery, identity = _again(waiting, waiting.trigger)
        process.request = claim_request(job, delivery, identity, holder=self._holder(), lease=self._lease)
        self._claim(process, now)

    def _leave(self, process: Process, now: datetime) -> None:
        process.step += 1
        del self._living[process]
        self._sessions.give_back(process.guard)
        self.scheduler.ended(now)

    def _die(self, process: Process, now: datetime) -> None:
        """End without a word: the ledger is left as it was at the last heartbeat, and the session falls."""
        if process.claimed is not None:
            self._renew(process)
            self._sessions.end(process.guard, process.claimed.run_id)
            if process.leased_until is not None:
                self.scheduler.lost(process.leased_until)
        else:
            self._sessions.give_back(process.guard)
        process.step += 1
        del self._living[process]
        self.scheduler.ended(now)

    def _renew(self, process: Process) -> str | None:
        """Renew the lease at the time of the last heartbeat; why somebody wants the run to end, if anybody does."""
        claimed, now = process.claimed, self._clock.now
        if claimed is None:
            return None
        beat = process.last_beat(now, self._lease)
        if beat == claimed.began_at:
            return None
        self._clock.now = beat
        self._clock.strike()
        reason = process.guard.renew(claimed, None)
        self._clock.now = now
        self._clock.strike()
        process.leased_until = beat + self._lease
        return reason

    def _will_hear(self, run_id: int, now: datetime) -> None:
        """The holder of the run learns with its next heartbeat that it is to end, and does so."""

        def hear(process: Process, now: datetime) -> None:
            if self._renew(process) is not None:
                self._end(process, now, "cancelled")

        for process in self._living:
            if process.claimed is not None and process.claimed.run_id == run_id:
                self._later(process, process.next_beat(now, self._lease), Rank.END, hear, beside=True)

    def _later(
        self,
        process: Process,
        at: datetime,
        rank: Rank,
        action: Callable[[Process, datetime], None],
        *,
        beside: bool = False,
    ) -> None:
        """Let the process do this at that time, unless it has begun something else by then.

        beside: it does not take the place of what the process does now.
        """
        if not beside:
            process.step += 1
        step = process.step

        def unless_over(now: datetime) -> None:
            if process.step == step and process in self._living:
                action(process, now)

        self._agenda.put(at, rank, unless_over)

    def _holder(self) -> str:
        return f"simulated:{next(self._holders)}"


def _again(run: Waiting, trigger: str) -> tuple[Delivery, Identity]:
    return Delivery(trigger, run.tick, run.payload, run.partition), Identity(run.run_key, run.tick)
