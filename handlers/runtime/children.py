"""The processes that a clock has started: each works on one run, under the deadline that it keeps itself."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from handlers.declaration.job import Job
from handlers.planning.misfire import Start

Command = Callable[[Job], list[str]]


@dataclass(frozen=True, slots=True)
class Child:
    """A process at work on a run."""

    job: Job
    run_id: int
    process: subprocess.Popen[bytes]


def task_entry(job: Job) -> list[str]:
    """The command of a job's own process."""
    return [sys.executable, "-m", "handlers.runtime.task_entry", job.name]


class Children:
    """At most `most` processes at once; `environ` is theirs. Not for several threads."""

    def __init__(self, environ: Mapping[str, str], most: int, command: Command) -> None:
        self._environ = environ
        self._most = most
        self._command = command
        self._children: dict[int, Child] = {}
        # Nothing is ever written: the end of this process closes the pipe, also when it is killed, and that is how its
        # children hear of it.
        self._lifeline, self._held = os.pipe()

    def __len__(self) -> int:
        return len(self._children)

    def has(self, pid: int, run_id: int) -> bool:
        """Whether this process is one of them, and at work on that run."""
        return pid in self._children and self._children[pid].run_id == run_id

    @property
    def room(self) -> int:
        """How many more may be started."""
        return self._most - len(self._children)

    def start(self, job: Job, start: Start) -> int:
        """Start a process for the run and return its id. Raises OSError."""
        process = subprocess.Popen(
            self._command(job),
            env={
                **self._environ,
                "SHIFTLOCK_TRIGGER": start.trigger,
                "SHIFTLOCK_RUN": str(start.due.run_id),
                "SHIFTLOCK_LIFELINE": str(self._lifeline),
            },
            stdin=subprocess.DEVNULL,
            pass_fds=(self._lifeline,),
            start_new_session=True,  # Ctrl-C is for the clock, which passes it on
        )
        self._children[process.pid] = Child(job, start.due.run_id, process)
        return process.pid

    def reap(self) -> list[tuple[Child, int]]:
        """Those that have ended since the last look, with their exit codes, below 0 for a signal."""
        ended = [(child, code) for child in self._children.values() if (code := child.process.poll()) is not None]
        for child, _ in ended:
            del self._children[child.process.pid]
        return ended

    def signal(self, number: signal.Signals, pid: int | None = None) -> None:
        """Send a signal to all of them, or to one."""
        for child in self._children.values():
            if pid in (None, child.process.pid):
                child.process.send_signal(number)

    def close(self) -> None:
        """Let go of the pipe; what still runs then comes to its end."""
        os.close(self._lifeline)
        os.close(self._held)
