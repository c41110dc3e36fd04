"""Python imports this first in a process that `jobs break` is to break: see `ops.local.aws.breaks`.

The process is broken by its own hand in the moment in which it says that it has claimed its run: seen from outside, a
short job would be over before a signal could reach it.
"""

import os
import signal
import sys
from typing import Any

ORDER, SIGNAL, AT = (os.environ.pop(f"SHIFTLOCK_BREAK_{name}") for name in ("ORDER", "SIGNAL", "AT"))


class Watched:
    """A stream of text that looks for the word."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes, and breaks the process after the text with the word, if the order is still there to be taken."""
        written: int = self._stream.write(text)
        if AT in text:
            self._stream.flush()
            try:
                os.unlink(ORDER)
            except FileNotFoundError:
                return written
            self._stream.write(f"broken by `jobs break`: {SIGNAL}\n")
            self._stream.flush()
            os.kill(os.getpid(), signal.Signals[SIGNAL])
        return written


# Lambda's worker keeps stdout for itself, and gives the function stderr in its place.
sys.stdout, sys.stderr = Watched(sys.stdout), Watched(sys.stderr)
