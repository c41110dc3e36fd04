"""Play one run: deliveries that a fault strikes, and more deliveries until the run has ended, as a rule gives them."""

import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Literal

import psycopg

from tests.faults import facts
from tests.faults.checker import ENDED, complaints
from tests.faults.job import EFFECTS, Calendar
from tests.faults.plan import Cut, Plan
from tests.faults.worker import Order
from tests.faults.workers import News, Workers

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
    """What came of it. struck: whether the fault came in time; recovery: seconds from it to the end of the run."""

    plan: Plan
    struck: bool
    recovery: float | None
    complaints: tuple[str, ...]
    said: Counter[str]


@dataclass
class Play:
    """One run in the making. struck_at: when the fault came, in seconds since 1970."""

    plan: Plan
    place: Place
    workers: Workers
    tell: bool = False
    struck_at: float | None = None
    passed: list[str] = field(default_factory=list)
    said: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    ended: bool = False

    def __post_init__(self) -> None:
        self._news: SimpleQueue[News] = SimpleQueue()
        self._state: dict[int, Literal["works", "frozen", "gone"]] = {}
        self._pids: dict[str, int] = {}
        # What is to be done later: when, on the monotonic clock (None: after the end of the run), and what.
        self._later: list[tuple[float | None, Callable[[], object]]] = []
        self._connection: psycopg.Connection | None = None

    def run(self) -> Played:
        """Play it to its end and check what it left behind."""
        try:
            self._strike()
            finished_at = self._ring_until_ended()
            self.ended = True
            self._let_everybody_go()
            self._check()
        finally:
            for number in self._in("works", "frozen"):
                self.workers.send(number, signal.SIGKILL)
            if self._connection is not None:
                self._connection.close()
        recovery = None if self.struck_at is None or finished_at is None else max(0.0, finished_at - self.struck_at)
        # At its boundary a worker is always struck; an outage may come when a run is through.
        struck = self.struck_at is not None and (self.plan.boundary is not None or recovery != 0.0)
        return Played(self.plan, struck, recovery if struck else None, tuple(self.wrong), self.said)

    def _strike(self) -> None:
        plan = self.plan
        if plan.copies > 1:
            return self._all_at_once()
        if plan.scene == "takeover":
            first = self._start(boundary=DIES_AT, signal=signal.SIGKILL)
            self._hear(PATIENCE, lambda: self._state[first] == "gone")
            self.struck_at = None
        victim = self._start(
            boundary=plan.boundary,
            signal=plan.signal,
            cut_guard_at=CUT_AT if plan.scene == "rejoin" else None,
            skew=plan.skews[0],
            tell=self.tell,
        )
        if plan.boundary:
            self._hear(PATIENCE, lambda: self.struck_at is not None or self._state[victim] == "gone")
        elif plan.moment is not None and plan.signal:
            self._hear(plan.moment, lambda: self._state[victim] == "gone")
            self.workers.send(victim, signal.Signals(plan.signal))
            self._hear(PATIENCE, lambda: self._state[victim] != "works")
        return None

    def _all_at_once(self) -> None:
        copies = [self._start(boundary=self.plan.boundary, signal=signal.SIGSTOP) for _ in range(self.plan.copies)]
        self._hear(PATIENCE, lambda: all(self._state[number] != "works" for number in copies))
        for number in copies:
            self._thaw(number)
        if self.plan.moment is None:
            return
        self._hear(self.plan.moment)
        for (pid,) in self._ask(HOLDER):
            if pid in self._pids:
                self.workers.send(self._pids[pid], signal.SIGKILL)
                self.struck_at = time.time()

    def _ring_until_ended(self) -> float | None:
        """Deliver until the run has ended; when that was, None when it takes too long."""
        deadline = time.monotonic() + PATIENCE
        ring = 0.0
        while (now := time.monotonic()) < deadline:
            for status, finished_at in self._ask(STATUS):
                if status in ENDED:
                    return float(finished_at)
            if now >= ring and len(self._in("works")) < AT_ONCE and not self.tell:
                ring = now + RING
                self._start(skew=self.plan.skews[1])
            self._hear(max(0.05, ring - now), self._fewer_than(len(self._in("works"))))
        self.wrong.append(f"the run has not ended {PATIENCE:.0f} s after the fault")
        return None

    def _let_everybody_go(self) -> None:
        for number in self._in("frozen"):
            self._thaw(number)
        self._hear(LEAVE, lambda: not self._in("works", "frozen"))
        for number in self._in("works", "frozen"):
            self.wrong.append(f"worker {number} is still there {LEAVE:.0f} s after the end of the run: see the log")
            self.workers.send(number, signal.SIGUSR2)
            self._hear(1.0)  # for it to say where it is
        self._do_what_is_due(at_the_end=True)

    def _check(self) -> None:
        if self._connection is not None:
            self._connection.close()  # it may be a dead one that nobody has noticed yet
        ledger = self._open()
        settled = time.monotonic() + SETTLE
        while (facts.held_locks(ledger) or facts.open_sessions(ledger)) and time.monotonic() < settled:
            ledger.execute("select pg_sleep(0.02)")
        calendar = self.place.calendar
        found = facts.read(ledger, self.plan.job, calendar.run_key)
        self.wrong += complaints(found, run_key=calendar.run_key, next_key=calendar.next_key, effects=EFFECTS)

    def _start(
        self,
        *,
        boundary: str | None = None,
        signal: int = 0,
        cut_guard_at: str | None = None,
        skew: float = 0.0,
        tell: bool = False,
    ) -> int:
        plan, number = self.plan, self.workers.number(self._news)
        self._state[number] = "works"
        self.workers.start(
            Order(
                number=number,
                url=self.place.url,
                job=plan.job,
                expression=self.place.calendar.expression,
                tick=self.place.calendar.tick.isoformat(),
                lease=LEASE,
                dwell=plan.dwell,
                weight=plan.weight,
                boundary=boundary,
                signal=signal,
                cut_guard_at=cut_guard_at,
                skew=skew,
                tell=tell,
            )
        )
        return number

    def _hear(self, seconds: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Take note of what happens, for so long or until it is enough."""
        until = time.monotonic() + seconds
        while not enough() and (left := until - time.monotonic()) > 0:
            due = [at - time.monotonic() for at, _ in self._later if at is not None]
            with suppress(Empty):
                self._note(self._news.get(timeout=max(0.0, min([left, *due]))))
            self._do_what_is_due()

    def _do_what_is_due(self, *, at_the_end: bool = False) -> None:
        for entry in list(self._later):
            at, act = entry
            if at_the_end or (at is not None and at <= time.monotonic()):
                self._later.remove(entry)
                act()

    def _note(self, news: News) -> None:
        match news.kind:
            case "started":
                self._pids[news.text] = news.number
            case "passed":
                self.passed.append(news.text)
            case "said":
                self.said[news.text] += 1
            case "stopped":
                self._state[news.number] = "frozen"
                self._frozen(news)
            case "exited":
                self._state[news.number] = "gone"
                if news.text == str(-signal.SIGKILL):
                    self.struck_at = news.at
                elif int(news.text) == 70 or int(news.text) < 0:
                    self.wrong.append(f"worker {news.number} ended with {news.text}")
            case "lost":
                raise ConnectionError("the nursery has died: see the workers' log")

    def _frozen(self, news: News) -> None:
        """The victim is at its boundary and stands still."""
        self.struck_at = news.at
        if self.plan.copies > 1:
            return
        at = None if self.plan.wake is None else time.monotonic() + self.plan.wake
        if self.plan.cut is not None and self.place.cut is not None:
            self._later.append((at, self.place.cut(self.plan.cut)))
            self._thaw(news.number)
        else:
            self._later.append((at, lambda: self._thaw(news.number)))

    def _thaw(self, number: int) -> None:
        if self._state[number] == "frozen":  # and not gone by now
            self._state[number] = "works"
            self.workers.send(number, signal.SIGCONT)

    def _fewer_than(self, at_work: int) -> Callable[[], bool]:
        """Whether somebody has ended, which makes another look worth while."""
        return lambda: len(self._in("works")) < at_work

    def _in(self, *states: str) -> list[int]:
        return [number for number, state in self._state.items() if state in states]

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        """Rows from the ledger; none while it cannot be reached."""
        try:
            return self._open().execute(query.encode(), (self.plan.job, self.place.calendar.run_key)).fetchall()
        except psycopg.OperationalError:
            return []

    def _open(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.place.ledger, autocommit=True, application_name="harness")
        return self._connection
