"""What `make run` says while it sets things up: each step with the time it took."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Step:
    """One step under way; `say` shows how far it is, on a terminal only."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._on_terminal = sys.stdout.isatty()
        self._note = ""

    def say(self, how_far: str) -> None:
        """Show how far the step is."""
        if self._on_terminal:
            sys.stdout.write(f"\r\x1b[K  {self._title} {how_far}")
            sys.stdout.flush()

    def done(self, note: str) -> None:
        """Remember what came of it, for the step's last line."""
        self._note = note


@contextmanager
def step(title: str) -> Iterator[Step]:
    """Name the step while it goes on, and print its time in seconds at its end."""
    began = time.monotonic()
    current = Step(title)
    current.say("...")
    yield current
    current.say("")
    end = f"  {title:<28} {time.monotonic() - began:6.1f} s"
    sys.stdout.write(("\r\x1b[K" if sys.stdout.isatty() else "") + end + (f"   {current._note}" if current._note else ""))
    sys.stdout.write("\n")
    sys.stdout.flush()
