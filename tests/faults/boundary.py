"""The statement boundaries of a worker, found without touching what is tested.

Everything that psycopg exchanges with a server passes two functions of its own, `Connection.wait` and
`waiting.wait_conn`. Wrapped, they show the moments before a statement is sent, after it was sent and before its result
is here, and after the result.
"""

import pkgutil
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from types import GeneratorType
from typing import Any, Literal, Self, TypeAlias

import psycopg
from psycopg import waiting

import handlers.guard
from tests.faults import job

Edge = Literal["before", "sent", "after"]
EDGES: tuple[Edge, ...] = ("before", "sent", "after")
Exchange: TypeAlias = "GeneratorType[Any, Any, Any]"


@dataclass(frozen=True, slots=True, order=True)
class Boundary:
    """One edge of the `nth` time (from 1) that a process sends the statement."""

    statement: str
    nth: int
    edge: Edge

    def __str__(self) -> str:
        return f"{self.statement}#{self.nth}:{self.edge}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The boundary that `str` gave."""
        statement, _, place = text.rpartition("#")
        nth, _, edge = place.partition(":")
        return cls(statement, int(nth), EDGES[EDGES.index(edge)])


# Told of each boundary in the thread that comes to it; the connection is None while it is being opened.
Note = Callable[[Boundary, psycopg.Connection | None], object]


def watch(note: Note) -> None:
    """Tell `note` of every boundary from now on, in this process, for good."""
    names = statement_names()
    counter: Counter[str] = Counter()
    counting = Lock()
    wait, wait_conn = psycopg.Connection.wait, waiting.wait_conn

    def watched(
        statement: str,
        connection: psycopg.Connection | None,
        exchange: Callable[[Generator[Any, Any, Any]], Any],
        gen: Exchange,
    ) -> Any:
        with counting:
            counter[statement] += 1
            nth = counter[statement]
        note(Boundary(statement, nth, "before"), connection)
        value = exchange(_telling(gen, lambda: note(Boundary(statement, nth, "sent"), connection)))
        note(Boundary(statement, nth, "after"), connection)
        return value

    def watched_wait(self: psycopg.Connection, gen: Exchange, *args: Any, **facts: Any) -> Any:
        return watched(_name(gen, names), self, lambda told: wait(self, told, *args, **facts), gen)

    def watched_connect(gen: Exchange, *args: Any, **facts: Any) -> Any:
        return watched("connect", None, lambda told: wait_conn(told, *args, **facts), gen)

    psycopg.Connection.wait = watched_wait  # type: ignore[method-assign, assignment]
    waiting.wait_conn = watched_connect  # type: ignore[assignment]


def statement_names() -> dict[str, str]:
    """The guard's and the job's statements by their text: `claim.CLAIM` for the constant CLAIM of guard/claim.py."""
    guard = (f"{handlers.guard.__name__}.{found.name}" for found in pkgutil.iter_modules(handlers.guard.__path__))
    return {
        value: f"{module.rpartition('.')[2]}.{constant}"
        for module in (*guard, job.__name__)
        for constant, value in vars(import_module(module)).items()
        if constant.isupper() and isinstance(value, str)
    }


def _name(gen: Exchange, names: dict[str, str]) -> str:
    """What is about to be sent. Psycopg's generator has not begun, so its arguments are all that it holds."""
    given = {} if gen.gi_frame is None else gen.gi_frame.f_locals
    if "gen" in given:  # the guard's own wrapper around it
        return _name(given["gen"], names)
    match gen.__name__:
        case "_enter_gen":
            return "begin"
        case "_exit_gen":
            return "commit" if given.get("exc_val") is None else "rollback"
    query = given.get("query")
    if not isinstance(query, str):
        return gen.__name__
    return names.get(query) or " ".join(query.split()[:3])


def _telling(gen: Exchange, sent: Callable[[], object]) -> Generator[Any, Any, Any]:
    """The same generator, which calls `sent` when it first waits for the server."""
    try:
        ready = next(gen)
        sent()
        while True:
            ready = gen.send((yield ready))
    except StopIteration as end:
        return end.value
