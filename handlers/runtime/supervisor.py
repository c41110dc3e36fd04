"""Ends a job that must not go on: past its deadline, told to stop, or no longer the holder of its run."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Literal, Self

from handlers.runtime.stop import Stop

Reason = Literal["deadline", "stop", "lease", "cancel"]


class Interruption(KeyboardInterrupt):
    """Raised in the job's own thread, wherever it is.

    A KeyboardInterrupt, because a job's `except Exception` must not swallow it and because psycopg answers one by
    cancelling the statement that is running.
    """

    def __init__(self, reason: Reason, text: str) -> None:
        self.reason = reason
        super().__init__(text)


class Supervisor:
    """Watches one attempt from a thread, as a context manager around the job in the main thread.

    The Interruption may come out of the `with` statement at any point, its first line included: then call `end`.

    deadline: seconds until the job is interrupted. stop_within: seconds it has after `stop` to reach a safe point.
    grace: seconds it has after the interruption to come back; then give_up is called in the watching thread and must
    end the process.
    """

    def __init__(
        self,
        *,
        deadline: float,
        stop: Stop,
        stop_within: float,
        grace: float,
        give_up: Callable[[Interruption], None],
    ) -> None:
        self._deadline = deadline
        self._stop = stop
        self._stop_within = stop_within
        self._grace = grace
        self._give_up = give_up
        self._armed = self._ended = False
        self._arming = threading.Lock()
        self._pending: Interruption | None = None
        self._poke_reader, self._poke_writer = os.pipe()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGALRM, self._raise)
        self._thread.start()
        with self._arming:
            early = self._pending
            self._armed = early is None
        if early is not None:
            raise early
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """End the supervision. To be called again when an Interruption struck while it was ending."""
        self._armed = False
        with self._arming:
            if self._ended:
                return
            self._ended = True
        os.write(self._poke_writer, b"e")
        self._thread.join()
        signal.signal(signal.SIGALRM, self._before)
        os.close(self._poke_reader)
        os.close(self._poke_writer)

    def interrupt(self, reason: Reason, text: str) -> None:
        """Interrupt the job, or keep it from beginning; from any thread. Only the first call counts."""
        with self._arming:
            if self._ended or self._pending is not None:
                return
            self._pending = Interruption(reason, text)
            os.write(self._poke_writer, b"i")
            if not self._armed:
                return
            # To the main thread and no other: only there does the handler run, and only there does it end a blocking
            # call.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if self._armed and self._pending is not None:
            self._armed = False
            raise self._pending

    def _watch(self) -> None:
        reason: Reason = "deadline"
        text = f"it passed its limit of {self._deadline:.0f} s"
        end = time.monotonic() + self._deadline
        watched = [self._poke_reader, self._stop.fileno()]
        while True:
            ready = select.select(watched, [], [], max(0.0, end - time.monotonic()))[0]
            if self._poke_reader in ready:
                break
            if ready:
                watched.remove(self._stop.fileno())
                within = time.monotonic() + self._stop_within
                if within < end:
                    end, reason = within, "stop"
                    text = f"it was told to stop and reached no safe point within {self._stop_within:.0f} s"
            else:
                self.interrupt(reason, text)
        self._await_return()

    def _await_return(self) -> None:
        """The job has ended or was interrupted: in the second case it has the grace to come back."""
        said = os.read(self._poke_reader, 1)
        if said == b"i" and not select.select([self._poke_reader], [], [], self._grace)[0] and self._pending:
            self._give_up(self._pending)
