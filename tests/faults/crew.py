"""The workers of one run: who works, who is frozen, who is gone, and what is to be done later."""

import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Literal

from tests.faults.worker import Order
from tests.faults.workers import News, Workers

CRASHED = 70  # a worker's exit code when something came out of it that should not


class Crew:
    """For one thread.

    struck_at: when a worker last froze or was killed, in seconds since 1970. said: what came of the deliveries.
    passed: the boundaries that each worker told of. wrong: workers that ended as none should. on_frozen is called with
    the number of a worker that has just frozen.
    """

    def __init__(self, workers: Workers, on_frozen: Callable[[int], object]) -> None:
        self.struck_at: float | None = None
        self.said: Counter[str] = Counter()
        self.passed: defaultdict[int, list[str]] = defaultdict(list)
        self.wrong: list[str] = []
        self._workers = workers
        self._on_frozen = on_frozen
        self._news: SimpleQueue[News] = SimpleQueue()
        self._state: dict[int, Literal["works", "frozen", "gone"]] = {}
        self._pids: dict[str, int] = {}
        self._later: list[tuple[float | None, Callable[[], object]]] = []

    def start(self, order: Callable[[int], Order]) -> int:
        """Start a worker; `order` is given its number."""
        number = self._workers.number(self._news)
        self._state[number] = "works"
        self._workers.start(order(number))
        return number

    def send(self, number: int, what: signal.Signals) -> None:
        """Send it a signal, unless it is gone."""
        self._workers.send(number, what)

    def thaw(self, number: int) -> None:
        """Let a frozen worker go on."""
        if self._state[number] == "frozen":
            self._state[number] = "works"
            self._workers.send(number, signal.SIGCONT)

    def at_work(self) -> list[int]:
        """Those that work."""
        return [number for number, state in self._state.items() if state == "works"]

    def frozen(self) -> list[int]:
        """Those that are frozen."""
        return [number for number, state in self._state.items() if state == "frozen"]

    def is_gone(self, number: int) -> bool:
        """Whether it has ended."""
        return self._state[number] == "gone"

    def of_process(self, pid: str) -> int | None:
        """The number of the worker with this process number."""
        return self._pids.get(pid)

    def later(self, seconds: float | None, act: Callable[[], object]) -> None:
        """Call `act` in so many seconds, while somebody hears; None for when the run is over."""
        self._later.append((None if seconds is None else time.monotonic() + seconds, act))

    def do_what_is_due(self, *, at_the_end: bool = False) -> None:
        """Do what was put off until now; at the end, all that was put off."""
        for entry in list(self._later):
            at, act = entry
            if at_the_end or (at is not None and at <= time.monotonic()):
                self._later.remove(entry)
                act()

    def hear(self, seconds: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Take note of what happens, for so long or until it is enough. Raises ConnectionError without a nursery."""
        until = time.monotonic() + seconds
        while not enough() and (left := until - time.monotonic()) > 0:
            due = [at - time.monotonic() for at, _ in self._later if at is not None]
            with suppress(Empty):
                self._note(self._news.get(timeout=max(0.0, min([left, *due]))))
            self.do_what_is_due()

    def _note(self, news: News) -> None:
        match news.kind:
            case "started":
                self._pids[news.text] = news.number
            case "passed":
                self.passed[news.number].append(news.text)
            case "said":
                self.said[news.text] += 1
            case "stopped":
                self._state[news.number] = "frozen"
                self.struck_at = news.at
                self._on_frozen(news.number)
            case "exited":
                self._state[news.number] = "gone"
                self._ended(news)
            case "lost":
                raise ConnectionError("the nursery has died: see the workers' log")

    def _ended(self, news: News) -> None:
        code = int(news.text)
        if code == -signal.SIGKILL:
            self.struck_at = news.at
        elif code == CRASHED or code < 0:
            self.wrong.append(f"worker {news.number} ended with {code}: see the log")
