"""The heartbeat: renews the lease while the job works, and says when it has lost it."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from handlers.guard.answers import Claimed
from handlers.guard.errors import Fenced, one_line
from handlers.guard.once import Guard

# A broken connection is tried again at this pace, in seconds, for as long as the lease holds.
RECONNECT_EVERY = 1.0


class Lease:
    """Renews every third of the lease, the first time at once, as a context manager around the job.

    on_lost is called once, from a thread, with the reason why the job must stop; on_beat after each renewal;
    on_cancel after each that finds somebody's wish that the run should end, with the reason.
    """

    def __init__(
        self,
        guard: Guard,
        claimed: Claimed,
        *,
        progress: Callable[[], dict[str, Any] | None],
        on_beat: Callable[[], None],
        on_lost: Callable[[str], None],
        on_cancel: Callable[[str], None],
    ) -> None:
        self._guard = guard
        self._claimed = claimed
        self._progress = progress
        self._on_beat = on_beat
        self._on_lost = on_lost
        self._on_cancel = on_cancel
        self._ended = threading.Event()
        self._ending = threading.Lock()
        # Two threads, because a renewal may hang for longer than the lease.
        self._keeper = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._watcher = threading.Thread(target=self._watch, name="lease's end", daemon=True)
        self._length = guard.lease.total_seconds()
        # The claim itself began the lease; the local clock only measures spans and is never compared with the
        # database's.
        self._expires = time.monotonic() + self._length
        self._trouble = "the database does not answer"

    def __enter__(self) -> Self:
        self._keeper.start()
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self._watcher.join()
        self._keeper.join(timeout=self._length)

    def _keep(self) -> None:
        self._on_beat()
        wait = self._length / 3
        while not self._ended.wait(wait):
            asked = time.monotonic()
            try:
                cancelled = self._guard.renew(self._claimed, self._progress())
            except Fenced as error:
                self._lose(str(error))
            except Exception as error:  # noqa: BLE001  # whatever it is, the job ends with the lease and not before
                self._trouble = one_line(error)
                wait = min(RECONNECT_EVERY, self._length / 3)
            else:
                # Counted from before the request, so that the job stops no later than the database thinks.
                self._expires = asked + self._length
                wait = self._length / 3
                self._on_beat()
                if cancelled is not None:
                    self._on_cancel(cancelled)

    def _watch(self) -> None:
        while not self._ended.wait(max(0.0, self._expires - time.monotonic())):
            if time.monotonic() >= self._expires:
                self._lose(f"the lease ended before it could be renewed: {self._trouble}")

    def _lose(self, reason: str) -> None:
        if self._end():
            self._on_lost(reason)

    def _end(self) -> bool:
        """Let both threads end; whether this call was the first."""
        with self._ending:
            first = not self._ended.is_set()
            self._ended.set()
            return first
