"""A request to stop is heard whenever it comes, and by whichever thread the kernel gives its signal to."""

import select
import signal
import threading
import time
from collections.abc import Sequence

import pytest

from handlers.runtime.stop import LOOK_UP, Stop


def test_a_signal_that_does_not_wake_who_waits_is_heard_at_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that another thread got: Python's handler runs in the main thread, which sleeps on."""
    stop, waits, wait = Stop(), threading.Event(), select.select

    def told(read: Sequence[int], write: Sequence[int], errors: Sequence[int], seconds: float) -> object:
        waits.set()
        return wait(read, write, errors, seconds)

    def signal_itself() -> None:
        waits.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda *_: stop.request())
    try:
        monkeypatch.setattr(select, "select", told)
        thread = threading.Thread(target=signal_itself)
        thread.start()
        began = time.monotonic()
        assert stop.wait(60 * LOOK_UP)
        assert time.monotonic() - began < 30 * LOOK_UP
        thread.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_wait_without_a_stop_ends_by_itself() -> None:
    stop = Stop()
    assert not stop.wait(0.01)
    stop.request()
    assert stop.wait(60 * LOOK_UP)
    assert stop.is_set()
