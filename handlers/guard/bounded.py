"""A connection on which nobody waits for ever.

Keepalives and tcp_user_timeout see a peer that is gone. They do not see one whose kernel still answers while nothing
comes of it: a frozen server, a stuck proxy or pooler, a NAT gateway that has forgotten the way back.
"""

import time
from collections.abc import Generator
from typing import Any, Self

import psycopg


class BoundedConnection(psycopg.Connection[Any]):
    """Breaks when an answer takes longer than `answers_within` seconds: it is then closed, with an OperationalError.

    waits_since: when the answer that it waits for was asked for, on the monotonic clock; None while it waits for none.
    """

    answers_within = float("inf")
    waits_since: float | None = None

    def within(self, seconds: float) -> Self:
        """Set the bound, and return the connection."""
        self.answers_within = seconds
        return self

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **facts: Any) -> Any:
        """As psycopg's own, with the bound."""
        self.waits_since = time.monotonic()
        try:
            return super().wait(self._in_time(gen), *args, **facts)
        finally:
            self.waits_since = None

    def _in_time(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        end = time.monotonic() + self.answers_within
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                # Psycopg comes by every tenth of a second with nothing ready.
                if not ready and time.monotonic() >= end:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no answer within {self.answers_within:.1f} s")
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value
