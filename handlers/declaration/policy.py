"""The policies a job may state: how it is retried, and how missed ticks are made up for."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

from handlers.declaration.duration import hours, minutes, seconds

# What a tick does that comes while a run of the same job or partition goes on: it is skipped; one may wait; the run
# before it is asked to stop; both run.
Overlap = Literal["skip", "queue", "replace", "allow"]
# What a second delivery of a run does: it ends quietly, waits for the result of the first, or counts as an error.
OnDuplicate = Literal["skip", "wait", "error"]
# What becomes of a run whose process died or timed out: it is tried again, or waits for a person's word.
OnLost = Literal["retry", "hold"]
CatchUpMode = Literal["skip", "latest", "all"]

MOST_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Retry:
    """Capped exponential backoff with full jitter: wait a random span up to `min(cap, base * 2**(n-1))`.

    Full jitter is the form with the least work and contention of those compared in the AWS Architecture Blog,
    "Exponential Backoff And Jitter".
    """

    attempts: int = 3
    base: timedelta = seconds(1)
    cap: timedelta = minutes(5)

    def longest_wait(self, failed_attempts: int) -> timedelta:
        """The upper bound of the wait after `failed_attempts` (1 or more) attempts have failed."""
        # In floats: a large power of two would overflow a timedelta before the cap could cut it.
        wait = self.base.total_seconds() * 2.0 ** (failed_attempts - 1)
        return timedelta(seconds=min(self.cap.total_seconds(), wait))

    def longest_wait_in_all(self) -> timedelta:
        """The longest that all waits of a run can add up to."""
        return sum((self.longest_wait(n) for n in range(1, self.attempts)), timedelta())

    def complaints(self) -> Iterator[str]:
        """Yield `field value: what is allowed` for each value that no run could follow."""
        if not 1 <= self.attempts <= MOST_ATTEMPTS:
            yield f"retry.attempts {self.attempts}: allowed is 1 to {MOST_ATTEMPTS}"
            return
        if self.base <= timedelta():
            yield f"retry.base {self.base}: allowed is more than 0 seconds"
        elif self.cap < self.base:
            yield f"retry.cap {self.cap}: allowed is retry.base ({self.base}) or more"
        elif self.longest_wait_in_all() > hours(24):
            yield (
                f"retry.attempts {self.attempts}: the waits between them may add up to {self.longest_wait_in_all()}; "
                "allowed is 24 hours in all, so lower attempts or cap"
            )


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Which missed ticks still run: none (`skip`), the `latest`, or `all`, oldest first.

    A tick older than `window` is not started any more (None: however old); of the rest the newest `at_most` are.
    """

    mode: CatchUpMode = "latest"
    window: timedelta | None = hours(1)
    at_most: int = 10

    def complaints(self) -> Iterator[str]:
        """Yield `field value: what is allowed` for each impossible value."""
        if self.mode not in get_args(CatchUpMode):
            yield f"catch_up.mode {self.mode!r}: allowed is {', '.join(get_args(CatchUpMode))}"
        if self.window is not None and not timedelta() < self.window <= hours(24 * 7):
            yield f"catch_up.window {self.window}: allowed is more than 0 and at most 7 days, or None"
        if not 1 <= self.at_most <= 1000:
            yield f"catch_up.at_most {self.at_most}: allowed is 1 to 1000"
