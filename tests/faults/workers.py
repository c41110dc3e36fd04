"""Workers as the harness sees them: started, signalled, and heard of."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Literal

from tests.faults.worker import Order

ROOT = Path(__file__).parents[2]
Kind = Literal["started", "passed", "said", "stopped", "exited", "lost"]


@dataclass(frozen=True, slots=True)
class News:
    """What happened to worker `number`, `at` a wall clock time (seconds since 1970) of this machine.

    started: text is its process number. stopped: it was frozen. exited: text is its code, negative for a signal.
    lost: the nursery has died, and all workers with it.
    """

    number: int
    kind: Kind
    text: str
    at: float


class Workers:
    """The nursery and its workers; threads may share it, each with a queue of its own for the news."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._numbers = count(1)
        self._queues: dict[int, SimpleQueue[News]] = {}
        self._writing = Lock()
        self._ended = False
        self._reader = Thread(target=self._read, name="news", daemon=True)
        self._reader.start()

    def number(self, queue: SimpleQueue[News]) -> int:
        """A number for a new worker, whose news go to the queue."""
        with self._writing:
            number = next(self._numbers)
        self._queues[number] = queue
        return number

    def start(self, order: Order) -> None:
        """Fork a worker. Raises ConnectionError without a nursery."""
        self._command({"order": order.to_json()})

    def send(self, number: int, what: signal.Signals) -> None:
        """Send the worker a signal, unless it has ended."""
        with suppress(ConnectionError):  # it has ended with the nursery
            self._command({"number": str(number), "signal": str(int(what))})

    def end(self) -> None:
        """End the nursery and every worker, and tell all queues; a second time does nothing."""
        with self._writing:
            if self._ended:
                return
            self._ended = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        with suppress(BrokenPipeError):
            self._pipe(self._process.stdin).close()
        self._pipe(self._process.stdout).close()

    def _command(self, command: dict[str, str]) -> None:
        with self._writing:
            if self._ended:
                raise ConnectionError("the nursery has been ended")
            pipe = self._pipe(self._process.stdin)
            pipe.write(json.dumps(command).encode() + b"\n")
            pipe.flush()

    def _read(self) -> None:
        for line in self._pipe(self._process.stdout):
            news = News(**json.loads(line))
            self._queues[news.number].put(news)
        for number, queue in list(self._queues.items()):
            queue.put(News(number, "lost", "", 0.0))

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


@contextmanager
def open_workers(log: IO[bytes]) -> Iterator[Workers]:
    """A nursery for the length of the `with`. What workers print goes to `log`."""
    workers = Workers(start_nursery(log))
    try:
        yield workers
    finally:
        workers.end()


@contextmanager
def ended_by_trouble(workers: Workers) -> Iterator[None]:
    """End them at once when something goes wrong, so that no thread goes on to wait for news of one."""
    try:
        yield
    except BaseException:  # Ctrl-C and SIGTERM, too: workers must not outlive what has ended the harness
        workers.end()
        raise


def start_nursery(log: IO[bytes]) -> subprocess.Popen[bytes]:
    """The nursery's process, in a group of its own, with pipes for commands and news."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.nursery"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        start_new_session=True,
        env={**os.environ, "POWERTOOLS_LOG_LEVEL": "WARNING"},
    )
