"""When to ask the POS once more within a run. Beyond that the job's own retries take over."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from handlers.pos.errors import GaveUp, Unavailable

T = TypeVar("T")

TRIES = 4
BASE = timedelta(milliseconds=250)
# A run that waits is paid for: what the POS wants to take longer is left to the ledger, which waits for nothing.
LONGEST_WAIT = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Decision:
    """How long to wait before the next try, None for no more of them, and the reason."""

    wait: timedelta | None
    because: str


def after(asked_to_wait: timedelta | None, *, tries: int, jitter: float) -> Decision:
    """What follows when try number `tries` found the POS unavailable.

    jitter: 0 to 1. Where the POS has named a time it is kept to, and a little more: all runs that it has sent away
    were told the same. Else the wait is a part of an exponential one (full jitter).
    """
    if tries >= TRIES:
        return Decision(None, f"tried {tries} times")
    if asked_to_wait is not None and asked_to_wait > LONGEST_WAIT:
        asked, longest = asked_to_wait.total_seconds(), LONGEST_WAIT.total_seconds()
        return Decision(None, f"it wants {asked:.0f} s without requests, and a run waits {longest:.0f} s at most")
    spread = BASE * 2 ** (tries - 1) * jitter
    if asked_to_wait is not None:
        return Decision(asked_to_wait + spread, "it has said how long")
    return Decision(spread, "backoff")


def again(ask: Callable[[], T], wait: Callable[[float], object], *, jitter: Callable[[], float] = random.random) -> T:
    """What `ask` returns, after waits of so many seconds where it raises Unavailable. Raises GaveUp, and its others."""
    tries = 1
    while True:
        try:
            return ask()
        except Unavailable as problem:
            decision = after(problem.asked_to_wait, tries=tries, jitter=jitter())
            if decision.wait is None:
                raise GaveUp(f"{problem}; {decision.because}", problem.asked_to_wait) from problem
        wait(decision.wait.total_seconds())
        tries += 1
