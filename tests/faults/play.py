"""Play one run: deliveries that a fault strikes, and more deliveries until the run has ended, as a rule gives them."""

import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.faults import facts
from tests.faults.checker import ENDED, complaints
from tests.faults.crew import Crew
from tests.faults.job import EFFECTS, Calendar
from tests.faults.plan import Cut, Plan
from tests.faults.worker import Order
from tests.faults.workers import Workers

LEASE = 1.0  # seconds
RING = 0.35  # seconds between two deliveries of a run that has not ended
AT_ONCE = 2  # deliveries at work, beside frozen ones, before another is held back to spare the machine
PATIENCE = 60.0  # seconds that a run may take to its end
LEAVE = 30.0  # seconds that its workers may take after that
SETTLE = LEASE + 5.0  # seconds until the server must have dropped what dead workers left
# The first delivery of a takeover dies here, in its second step; the guard of a rejoin loses its connection here.
DIES_AT = "job.EFFECT#2:after"
CUT_AT = "job.EFFECT#1:after"

STATUS = """
select status, extract(epoch from finished_at)::float8 from shiftlock.job_runs
where job_name = %s and run_key = %s
"""
HOLDER = """
select substring(holder from ':([0-9]+):') from shiftlock.job_runs
where job_name = %s and run_key = %s and status = 'running'
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is played. ledger: the database, directly; url: the way that workers take; cut: cuts that way."""

    ledger: str
    url: str
    calendar: Calendar
    cut: Callable[[Cut], Callable[[], object]] | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """What came of it. struck: whether the fault came in time; recovery: seconds from it to the end of the run.

    how: which of the mechanisms of its kind was at work.
    """

    plan: Plan
    how: str
    struck: bool
    recovery: float | None
    complaints: tuple[str, ...]
    said: Counter[str]


class Play:
    """One run in the making. tell: its one worker says what boundaries it passes, and nothing else happens."""

    def __init__(self, plan: Plan, place: Place, workers: Workers, *, tell: bool = False) -> None:
        self.plan = plan
        self.ended = False
        self.victim = 0  # its number as a worker
        self.crew = Crew(workers, self._meet_frozen)
        self._place = place
        self._tell = tell
        self._wrong: list[str] = []
        self._connection: psycopg.Connection | None = None

    def run(self) -> Played:
        """Play it to its end and check what it left behind."""
        crew = self.crew
        try:
            self._strike()
            finished_at = self._ring_until_ended()
            self.ended = True
            self._let_everybody_go()
            self._check()
        finally:
            for number in (*crew.at_work(), *crew.frozen()):
                crew.send(number, signal.SIGKILL)
            if self._connection is not None:
                self._connection.close()
        recovery = None if crew.struck_at is None or finished_at is None else max(0.0, finished_at - crew.struck_at)
        # At its boundary a worker is always struck; an outage may come when a run is through.
        struck = crew.struck_at is not None and (self.plan.boundary is not None or recovery != 0.0)
        wrong = (*self._wrong, *crew.wrong)
        return Played(self.plan, self.plan.how, struck, recovery if struck else None, wrong, crew.said)

    def strike_from_outside(self) -> None:
        """Note that an outage begins now."""
        if not self.ended:
            self.crew.struck_at = time.time()

    def _strike(self) -> None:
        plan, crew = self.plan, self.crew
        if plan.copies > 1:
            return self._all_at_once()
        if plan.scene == "takeover":
            first = self._deliver(boundary=DIES_AT, signal=signal.SIGKILL)
            crew.hear(PATIENCE, lambda: crew.is_gone(first))
            crew.struck_at = None
        cut_at = CUT_AT if plan.scene == "rejoin" else None
        self.victim = victim = self._deliver(
            boundary=plan.boundary, signal=plan.signal, cut_guard_at=cut_at, skew=plan.skews[0]
        )
        if plan.moment is not None:
            crew.hear(plan.moment, lambda: crew.is_gone(victim))
            crew.send(victim, signal.Signals(plan.signal))
        if plan.signal:
            crew.hear(PATIENCE, lambda: crew.struck_at is not None or crew.is_gone(victim))
        return None

    def _all_at_once(self) -> None:
        """All stand before their first connection, and go on together; the holder may be killed a moment later."""
        plan, crew = self.plan, self.crew
        copies = [self._deliver(boundary=plan.boundary, signal=signal.SIGSTOP) for _ in range(plan.copies)]
        crew.hear(PATIENCE, lambda: len(crew.frozen()) == len(copies))
        for number in copies:
            crew.thaw(number)
        if plan.moment is None:
            return
        crew.hear(plan.moment)
        for (pid,) in self._ask(HOLDER):
            holder = crew.of_process(pid)
            if holder is not None:
                crew.send(holder, signal.SIGKILL)

    def _ring_until_ended(self) -> float | None:
        """Deliver until the run has ended; when that was, None when it takes too long."""
        deadline = time.monotonic() + PATIENCE
        ring = 0.0
        while (now := time.monotonic()) < deadline:
            for status, finished_at in self._ask(STATUS):
                if status in ENDED:
                    return float(finished_at)
            if now >= ring and len(self.crew.at_work()) < AT_ONCE and not self._tell:
                ring = now + RING
                self._deliver(skew=self.plan.skews[1])
            self.crew.hear(max(0.05, ring - now), self._somebody_leaves())
        self._wrong.append(f"the run has not ended {PATIENCE:.0f} s after the fault")
        return None

    def _somebody_leaves(self) -> Callable[[], bool]:
        at_work = len(self.crew.at_work())
        return lambda: len(self.crew.at_work()) < at_work

    def _let_everybody_go(self) -> None:
        crew = self.crew
        for number in crew.frozen():
            crew.thaw(number)
        crew.hear(LEAVE, lambda: not crew.at_work())
        for number in crew.at_work():
            self._wrong.append(f"worker {number} is still there {LEAVE:.0f} s after the end of the run: see the log")
            crew.send(number, signal.SIGUSR2)
            crew.hear(1.0)  # for it to say where it is
        crew.do_what_is_due(at_the_end=True)

    def _check(self) -> None:
        """Look at what is left; an outage that comes only now is waited out."""
        deadline = time.monotonic() + PATIENCE
        while True:
            if self._connection is not None:
                self._connection.close()  # it may be a dead one that nobody has noticed yet
            try:
                return self._look()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                self.crew.hear(RING)

    def _look(self) -> None:
        ledger, calendar = self._open(), self._place.calendar
        settled = time.monotonic() + SETTLE
        while (facts.held_locks(ledger) or facts.open_sessions(ledger)) and time.monotonic() < settled:
            ledger.execute("select pg_sleep(0.02)")
        found = facts.read(ledger, self.plan.job, calendar.run_key)
        self._wrong += complaints(found, run_key=calendar.run_key, next_key=calendar.next_key, effects=EFFECTS)

    def _deliver(self, **grief: Any) -> int:
        """Start a worker with this delivery, to which `grief` happens (see Order)."""
        plan, place = self.plan, self._place
        return self.crew.start(
            lambda number: Order(
                number=number,
                url=place.url,
                job=plan.job,
                expression=place.calendar.expression,
                tick=place.calendar.tick.isoformat(),
                lease=LEASE,
                dwell=plan.dwell,
                weight=plan.weight,
                tell=self._tell,
                **grief,
            )
        )

    def _meet_frozen(self, number: int) -> None:
        """A worker stands still at its boundary, or wherever it was."""
        plan, crew = self.plan, self.crew
        if plan.copies > 1:
            return
        if plan.cut is not None and self._place.cut is not None:
            crew.later(plan.wake, self._place.cut(plan.cut))
            crew.thaw(number)
        else:
            crew.later(plan.wake, lambda: crew.thaw(number))

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        """Rows from the ledger; none while it cannot be reached."""
        try:
            return self._open().execute(query.encode(), (self.plan.job, self._place.calendar.run_key)).fetchall()
        except psycopg.OperationalError:
            return []

    def _open(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._place.ledger, autocommit=True, application_name="harness")
        return self._connection
