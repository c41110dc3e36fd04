"""What the fixtures of conftest.py hand to the tests."""

from typing import LiteralString, Protocol

from handlers.runtime.report import Report
from handlers.runtime.stop import Stop


class FailOnce(Protocol):
    """Makes the database refuse the first row of a table for which a condition on `new` or `old` holds."""

    def __call__(self, table: LiteralString, event: LiteralString, condition: LiteralString) -> None: ...


class RunJob(Protocol):
    """Runs a job of the schedule for its latest tick at a time (ISO 8601), with two attempts at once."""

    def __call__(self, name: str, at: str, *, stop: Stop | None = None) -> Report: ...
