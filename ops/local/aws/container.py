"""One command run as a container would run it: its output in lines, its signals, its exit code."""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import IO, cast

# How long output may still come after the command has ended, in seconds: a child it left behind can hold the pipe.
LAST_WORDS = 2.0


class Container:
    """A started command. SIGTERM reaches the command alone, as it reaches process 1 of a container."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        line: Callable[[str], None],
    ) -> None:
        """Starts the command; `line` gets each line of stdout and stderr. Raises OSError when it cannot start."""
        self._process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._line = line
        self._killer: threading.Timer | None = None
        self._killed_at = inf  # on the monotonic clock
        self._pump = threading.Thread(target=self._read, daemon=True)
        self._pump.start()

    @property
    def pid(self) -> int:
        """The process id of the command."""
        return self._process.pid

    def stop(self, timeout: float) -> None:
        """Sends SIGTERM now and SIGKILL after `timeout` seconds; returns at once.

        A second call sends no second SIGTERM, and can only bring the SIGKILL forward.
        """
        at = time.monotonic() + timeout
        if self._killer is None:
            self._process.terminate()
        elif at >= self._killed_at:
            return
        else:
            self._killer.cancel()
        self._killed_at = at
        self._killer = threading.Timer(timeout, self._process.kill)
        self._killer.daemon = True
        self._killer.start()

    def wait(self) -> int:
        """Waits for the end; the exit code as ECS reports it: 128 + n for a command ended by signal n."""
        code = self._process.wait()
        if self._killer is not None:
            self._killer.cancel()
        self._pump.join(LAST_WORDS)
        return code if code >= 0 else 128 - code

    def _read(self) -> None:
        with cast(IO[bytes], self._process.stdout) as output:
            for raw in output:
                self._line(raw.decode(errors="replace").rstrip("\r\n"))
