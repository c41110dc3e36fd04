"""The guards of simulated processes: a session each, which falls with its process and else serves the next one."""

import time
from datetime import timedelta

import psycopg

from handlers.guard.once import Guard
from ops.simulate.scratch import Scratch

BACKEND = "select backend_pid from shiftlock.job_runs where id = %s"
THERE = "select from pg_stat_get_activity(%s)"
# Seconds of real time: no session hears of the end of another, so it is looked for.
ENDS_WITHIN, PAUSE = 30.0, 0.0005


class Sessions:
    """Guards with an open session, or with one that opens when it is needed. lease: as in production."""

    def __init__(self, scratch: Scratch, lease: timedelta) -> None:
        self._scratch, self._lease = scratch, lease
        self._all: set[Guard] = set()
        self._free: list[Guard] = []

    def take(self) -> Guard:
        """One for a new process."""
        if self._free:
            return self._free.pop()
        guard = Guard(lambda: self._scratch.url, lease=self._lease, name="shiftlock simulation")
        self._all.add(guard)
        return guard

    def give_back(self, guard: Guard) -> None:
        """Its process has ended, and holds nothing any more."""
        self._free.append(guard)

    def end(self, guard: Guard, run_id: int) -> None:
        """The holder of this run has died: return when the server has let go of the session and of its lock.

        Else it would be a matter of luck whether the next claim finds the holder alive. Raises psycopg.Error.
        """
        row = self._scratch.connection.execute(BACKEND, (run_id,)).fetchone()
        self._close(guard)
        deadline = time.monotonic() + ENDS_WITHIN
        while row is not None and self._scratch.connection.execute(THERE, row).rowcount:
            if time.monotonic() > deadline:
                raise psycopg.OperationalError(f"backend {row[0]} does not end")
            time.sleep(PAUSE)  # a backend tells nobody that it has ended

    def close(self) -> None:
        """Close all sessions."""
        for guard in list(self._all):
            self._close(guard)

    def _close(self, guard: Guard) -> None:
        self._all.remove(guard)
        guard.__exit__(None, None, None)
