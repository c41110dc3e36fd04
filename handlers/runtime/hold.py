"""Keeps a message hidden from others while its run goes on."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Self

from handlers.declaration.queue import LONGEST_VISIBILITY
from handlers.declaration.queue_limits import FACTOR, WORKER_BEAT
from handlers.runtime.inbox import UNMEASURED, Inbox, Received


class Hold:
    """A thread that hides the message anew with each beat, as a context manager around its run.

    let_go: called when SQS hides it no longer, at most 12 hours after its receipt: leaves the run to the ledger alone,
    and says whether it has it. has_let_go: it has; there is no message any more.
    """

    def __init__(
        self,
        inbox: Inbox,
        received: Received,
        let_go: Callable[[Received], bool],
        *,
        beat: timedelta = WORKER_BEAT,
        longest: timedelta = LONGEST_VISIBILITY - UNMEASURED,
    ) -> None:
        self.has_let_go = False
        self._inbox = inbox
        self._received = received
        self._let_go = let_go
        self._beat = beat
        self._longest = longest
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="hold", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Before anybody else says when the message is shown again: a late beat would hide it for longer.
        self._over.set()
        self._thread.join()

    def _keep(self) -> None:
        hidden = FACTOR * self._beat
        while not self._over.wait(self._beat.total_seconds()):
            held = timedelta(seconds=time.monotonic() - self._received.taken_at)
            if held + hidden > self._longest:
                self.has_let_go = self._let_go(self._received)
                if self.has_let_go:
                    return
            # Another may have it: the guard sees to it that the run goes on here alone.
            elif self._inbox.hide(self._received, hidden) == "gone":
                return
