"""The schedule of a job that has none: only messages and people start it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from handlers.declaration.cron import Cron


@dataclass(frozen=True, slots=True)
class Never(Cron):
    """A schedule without a tick. It needs no special case where ticks are looked for: there is none."""

    expression: str = "never"

    def complaints(self) -> tuple[str, ...]:
        """Nothing is wrong with it."""
        return ()

    def next(self, after: datetime) -> datetime | None:
        """None: no tick follows."""
        return None

    def previous(self, at: datetime) -> datetime | None:
        """None: there was no tick."""
        return None

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """Yield nothing."""
        yield from ()


NEVER = Never()
