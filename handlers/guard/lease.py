"""The heartbeat: a thread that renews the lease while the job works, and says when it has lost it."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from handlers.guard.answers import Claimed
from handlers.guard.errors import DatabaseUnavailable, Fenced
from handlers.guard.once import Guard

# A broken connection is tried again at this pace, in seconds, for as long as the lease holds.
RECONNECT_EVERY = 1.0


class Lease:
    """Renews every third of the lease, the first time at once, as a context manager around the job.

    on_lost is called once, from the thread, with the reason why the job must stop; on_beat after each renewal.
    """

    def __init__(
        self,
        guard: Guard,
        claimed: Claimed,
        *,
        progress: Callable[[], dict[str, Any] | None],
        on_beat: Callable[[], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self._guard = guard
        self._claimed = claimed
        self._progress = progress
        self._on_beat = on_beat
        self._on_lost = on_lost
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._length = guard.lease.total_seconds()
        # The claim itself began the lease; the local clock only measures spans and is never compared with the
        # database's.
        self._expires = time.monotonic() + self._length

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(timeout=self._length)

    def _keep(self) -> None:
        self._on_beat()
        wait = self._length / 3
        while not self._ended.wait(wait):
            asked = time.monotonic()
            try:
                self._guard.renew(self._claimed, self._progress())
            except Fenced as error:
                self._on_lost(str(error))
                return
            except DatabaseUnavailable as error:
                if time.monotonic() >= self._expires:
                    self._on_lost(f"the lease ended before it could be renewed: {error}")
                    return
                wait = min(RECONNECT_EVERY, self._length / 3)
            else:
                # Counted from before the request, so that the job stops no later than the database thinks.
                self._expires = asked + self._length
                wait = self._length / 3
                self._on_beat()
