"""What is to happen, in the order of virtual time."""

import heapq
from collections.abc import Callable
from datetime import datetime
from enum import IntEnum
from itertools import count

Action = Callable[[datetime], None]


class Rank(IntEnum):
    """What comes first of things that happen at the same moment."""

    END = 0
    OUTAGE = 1
    BELL = 2
    CLAIM = 3
    PASS = 4


class Agenda:
    """Actions with their time. Of the same time and rank, what was put down first comes first."""

    def __init__(self) -> None:
        self._entries: list[tuple[datetime, Rank, int, Action]] = []
        self._numbers = count()

    def put(self, at: datetime, rank: Rank, action: Action) -> None:
        """Let the action happen at this time."""
        heapq.heappush(self._entries, (at, rank, next(self._numbers), action))

    def take(self, before: datetime) -> tuple[datetime, Action] | None:
        """Take the next action with its time; None when there is none before `before`."""
        if not self._entries or self._entries[0][0] >= before:
            return None
        at, _, _, action = heapq.heappop(self._entries)
        return at, action
