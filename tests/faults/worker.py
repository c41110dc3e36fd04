"""One delivery in a process of its own, which may be told to come to grief at a boundary."""

import json
import os
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Self

import psycopg

from handlers.guard.errors import GuardError
from handlers.runtime.identity import Delivery
from handlers.runtime.logs import LogObserver, open_log
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop
from tests.faults.boundary import Boundary, watch
from tests.faults.clock import skew
from tests.faults.job import Calendar, declared, payload

Say = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is to do. number: its own. expression, tick: see job.Calendar. lease, dwell, skew: seconds.

    boundary, signal: the signal that it sends to itself, and where. cut_guard_at: the boundary at which it loses the
    guard's connection. tell: say every boundary that it passes.
    """

    number: int
    url: str
    job: str
    expression: str
    tick: str
    lease: float
    dwell: float
    weight: int = 1
    boundary: str | None = None
    signal: int = 0
    cut_guard_at: str | None = None
    skew: float = 0.0
    tell: bool = False

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The order that `to_json` wrote."""
        return cls(**json.loads(text))


def work(order: Order, say: Say) -> int:
    """Carry out the delivery and return the exit code. `say` takes a kind of news and its text."""
    skew(order.skew)
    watch(_Trap(order, say))
    log = open_log()
    runner = Runner(
        settings=Settings("test", DatabaseUrl(order.url), timedelta(seconds=order.lease)),
        observers=(LogObserver(log),),
        log=log,
        stop=Stop(),
        compute="process",
    )
    calendar = Calendar(order.expression, datetime.fromisoformat(order.tick))
    delivery = Delivery("rule", calendar.tick, payload(dwell=order.dwell, weight=order.weight))
    try:
        report = runner.run(declared(order.job, calendar), delivery)
    except GuardError as error:
        log.warning(str(error))
        say("said", type(error).__name__)
        return 69
    say("said", report.result)
    return report.exit_code


class _Trap:
    """Told of every boundary; does at the right one what the order says."""

    def __init__(self, order: Order, say: Say) -> None:
        self._order = order
        self._say = say
        self._guard: psycopg.Connection | None = None

    def __call__(self, boundary: Boundary, connection: psycopg.Connection | None) -> None:
        text = str(boundary)
        self._guard = self._guard or connection  # the first connection of a delivery is the guard's
        if self._order.tell:
            self._say("passed", text)
        if text == self._order.cut_guard_at and self._guard is not None:
            _hang_up(self._guard)
        if text == self._order.boundary:
            os.kill(os.getpid(), self._order.signal)


def _hang_up(connection: psycopg.Connection) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as link:
        link.shutdown(socket.SHUT_RDWR)
