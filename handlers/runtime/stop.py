"""A request to stop, safe to make from a signal handler."""

import os
import select
import threading
import time

LOOK_UP = 1.0  # seconds


class Stop:
    """Set once, by SIGTERM or SIGINT; anyone may look at it or wait for it.

    A pipe and not threading.Event: a signal handler that sets an Event may find its lock held by the very code that
    it has interrupted.
    """

    def __init__(self) -> None:
        self._asked = False
        self._reader, self._writer = os.pipe()

    def request(self) -> None:
        """Ask for the stop."""
        self._asked = True
        os.write(self._writer, b"s")

    def is_set(self) -> bool:
        """Whether a stop was asked for."""
        return self._asked

    def wait(self, seconds: float) -> bool:
        """Wait for at most that long; whether a stop was asked for."""
        end = time.monotonic() + seconds
        # In pieces: of a signal that comes a moment before a wait, Python tells the handler only after it.
        while not self._asked and (left := end - time.monotonic()) > 0:
            select.select([self._reader], [], [], min(left, LOOK_UP))
        return self._asked

    def fileno(self) -> int:
        """Becomes readable, and stays so, when a stop is asked for."""
        return self._reader

    def request_at_end_of(self, descriptor: int) -> None:
        """Ask for the stop once the other end of a pipe is closed: whoever started this process has died."""

        def wait() -> None:
            while os.read(descriptor, 1):
                continue
            self.request()

        threading.Thread(target=wait, name="lifeline", daemon=True).start()
