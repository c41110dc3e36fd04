"""What `make run` says while it sets things up: each step with the time it took."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

CLEAR_LINE = "\r\x1b[K"


class Step:
    """One step under way. note: what came of it, for the step's last line."""

    def __init__(self, title: str) -> None:
        self.note = ""
        self._title = title

    def say(self, how_far: str) -> None:
        """Show how far the step is; on a terminal only, where the next word takes its place."""
        if sys.stdout.isatty():
            print(f"{CLEAR_LINE}  {self._title} {how_far}", end="", flush=True)


@contextmanager
def step(title: str) -> Iterator[Step]:
    """Name the step while it goes on, and print its time in seconds at its end."""
    began = time.monotonic()
    current = Step(title)
    current.say("...")
    yield current
    clear = CLEAR_LINE if sys.stdout.isatty() else ""
    print(f"{clear}  {title:<28} {time.monotonic() - began:6.1f} s   {current.note}".rstrip(), flush=True)
