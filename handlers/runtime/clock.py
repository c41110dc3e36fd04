"""The scheduler of our own: a pass over the ledger each minute, and a process for each run that is due.

Any number of copies may run: each run is called by one of them, and whoever calls, the guard's claim decides.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import FrameType

import psycopg
from aws_lambda_powertools.logging import Logger

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.guard.connection import Connect
from handlers.guard.errors import DatabaseUnavailable, one_line
from handlers.guard.session import Session, open_session
from handlers.planning.carry_out import call
from handlers.planning.misfire import Start
from handlers.planning.sweep import Pass, sweep
from handlers.runtime.children import Children
from handlers.runtime.moments import MINUTE, Moment, jump, until_next_look
from handlers.runtime.pass_log import log_pass
from handlers.runtime.retention import prune_some
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET
from handlers.runtime.stop import Stop

# The server drops a session that is idle for longer; passes come every minute.
SESSION = timedelta(minutes=2)
# A database that is away is asked again this often (seconds).
ASK_AGAIN = 1.0
# Sleep is noticed this soon (seconds) after the machine has woken up: select(2) waits on the monotonic clock, which
# sleeps too.
LOOK_UP = 5.0
PRUNE_EVERY = timedelta(minutes=10)
# Children have up to 110 s to reach a safe point; ECS kills everything 120 s after SIGTERM.
LONGEST_STOP = 117.0


@dataclass(slots=True)
class Clock:
    """One scheduler. name: what logs call it. on_pass is told of every pass."""

    connect: Connect
    catalogue: Catalogue
    children: Children
    log: Logger
    stop: Stop
    on_pass: Callable[[Pass], None]
    name: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")
    _session: Session | None = None
    _last: Moment | None = None
    _away: bool = False
    _pruned_at: datetime | None = None

    def serve(self) -> None:
        """Make passes until the stop, then let all children end.

        Raises SchemaTooOld, LockKeyCollision and whatever is no matter of a database being away. Only for the main
        thread: it listens for the ends of its children.
        """
        woken, wake = os.pipe()
        os.set_blocking(wake, False)

        def ring(number: int, frame: FrameType | None) -> None:
            with suppress(BlockingIOError):  # it is full: more than enough to wake up for
                os.write(wake, b"c")

        before = signal.signal(signal.SIGCHLD, ring)
        self.log.info("the clock runs", extra={"worker": self.name, "jobs": len(self.catalogue)})
        try:
            while not self.stop.is_set():
                self._rest(self.look(), woken)
        finally:
            self._let_all_end(woken)
            signal.signal(signal.SIGCHLD, before)
            os.close(woken)
            os.close(wake)
            self.children.signal(signal.SIGKILL)
            self.children.close()
            if self._session is not None:
                self._session.connection.close()

    def look(self) -> float:
        """Make a pass and start what is due; seconds until the next look."""
        self._note_ends()
        try:
            connection = self._connection()
            made = sweep(
                connection, self.catalogue, on_time=lambda job: MINUTE, rings=True, lost_budget=INFRASTRUCTURE_BUDGET
            )
            self._note(made)
            if self._pruned_at is None or made.at - self._pruned_at > PRUNE_EVERY:
                prune_some(connection, self.log)
                self._pruned_at = made.at
            contended = self._start(connection, made.starts[: self.children.room])
        except (DatabaseUnavailable, psycopg.Error) as error:  # whatever it is, the jobs that run go on
            if not self._away:
                self.log.error("no passes", extra={"because": one_line(error), "worker": self.name})
            self._away, self._last = True, None
            return ASK_AGAIN
        self.on_pass(made)
        return until_next_look(made.at, coming=made.coming, contended=contended)

    def _start(self, connection: psycopg.Connection, starts: tuple[tuple[Job, Start], ...]) -> bool:
        """Start a process for each run that no other scheduler has called; whether any has been called by another."""
        if not starts:
            return False
        called = call(connection, [start.due.run_id for _, start in starts])
        for job, start in starts:
            facts = {"job": job.name, "run_key": start.due.run_key, "run_id": start.due.run_id, "worker": self.name}
            if start.due.run_id in called:
                try:
                    pid = self.children.start(job, start)
                except OSError as error:  # no more memory, processes or files: later there may be
                    self.log.error("no process", extra={**facts, "because": str(error)})
                    continue
                self.log.info("called", extra={**facts, "because": start.because, "child": pid})
            else:
                self.log.debug("called by another scheduler", extra=facts)
        return len(called) < len(starts)

    def _note(self, made: Pass) -> None:
        if self._away:
            self._away = False
            self.log.info("passes go on", extra={"worker": self.name})
        now = Moment(made.at, time.monotonic())
        gone = None if self._last is None else jump(self._last, now)
        self._last = now
        if gone is not None:
            seconds = round(gone.total_seconds(), 1)
            self.log.warning("the clock jumped, or the machine slept", extra={"seconds": seconds, "worker": self.name})
        log_pass(self.log, made)
        for lost in made.lost:
            host, _, pid = (lost.holder or "").rpartition(":")[0].rpartition(":")
            # A child of ours that has not renewed its lease hangs so that it cannot even end itself.
            if host == socket.gethostname() and self.children.has(int(pid), lost.run_id):
                self.children.signal(signal.SIGKILL, int(pid))

    def _note_ends(self) -> None:
        for child, code in self.children.reap():
            facts = {"job": child.job.name, "run_id": child.run_id, "exit_code": code, "worker": self.name}
            (self.log.warning if code < 0 else self.log.debug)("a child has ended", extra=facts)

    def _rest(self, seconds: float, woken: int) -> None:
        """Wait that long, or until a child ends, the stop comes, or the machine has slept."""
        end, before = time.monotonic() + seconds, time.time() - time.monotonic()
        while (left := end - time.monotonic()) > 0:
            ready = select.select([woken, self.stop.fileno()], [], [], min(left, LOOK_UP))[0]
            if woken in ready:
                os.read(woken, 4096)
            if ready or abs(time.time() - time.monotonic() - before) > LOOK_UP:
                return

    def _let_all_end(self, woken: int) -> None:
        """Pass the stop on: children come to a safe point, or to their end, in the time that each job says."""
        self.log.info("stopping", extra={"children": len(self.children), "worker": self.name})
        self.children.signal(signal.SIGTERM)
        end = time.monotonic() + LONGEST_STOP
        self._note_ends()
        while self.children and (left := end - time.monotonic()) > 0:
            if select.select([woken], [], [], left)[0]:
                os.read(woken, 4096)
            self._note_ends()

    def _connection(self) -> psycopg.Connection:
        if self._session is None or self._session.connection.closed:
            self._session = open_session(self.connect, lease=SESSION, name="shiftlock clock")
        return self._session.connection
