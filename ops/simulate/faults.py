"""What goes wrong, drawn from a seed: each draw depends on what it is about and on nothing else.

So the same seed gives the same bad luck to the same tick, whatever else happens or is changed about the simulation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from handlers.declaration.run_key import tick_key

Fate = Literal["succeeds", "fails", "dies"]

# A bell that rings twice does so within this time: the second finds a run that goes on, or has ended.
SECOND_RING = timedelta(minutes=2)
DIGITS = 52  # bits of a draw: each of them is exact in a float
MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Chance:
    """A probability for one job, or for each where `job` is None."""

    job: str | None
    of: float


@dataclass(frozen=True, slots=True)
class Faults:
    """Probabilities, 0 to 1. lost, duplicate: of each bell. fail, die: of each attempt, by job."""

    seed: int = 1
    lost: float = 0.0
    duplicate: float = 0.0
    fail: Mapping[str, float] = field(default_factory=dict)
    die: Mapping[str, float] = field(default_factory=dict)

    def loses(self, job: str, tick: datetime) -> bool:
        """Whether the bell of this tick never rings."""
        return self._happens(self.lost, "lost", job, tick_key(tick))

    def rings_again(self, job: str, tick: datetime) -> timedelta | None:
        """How long after its first ring the bell of this tick rings a second time, if it does."""
        if not self._happens(self.duplicate, "duplicate", job, tick_key(tick)):
            return None
        return self.part_of(SECOND_RING, "again", job, tick_key(tick))

    def fate(self, job: str, run_key: str, attempt: int) -> Fate:
        """How an attempt ends."""
        if self._happens(self.die.get(job, 0.0), "die", job, run_key, attempt):
            return "dies"
        return "fails" if self._happens(self.fail.get(job, 0.0), "fail", job, run_key, attempt) else "succeeds"

    def part_of(self, whole: timedelta, *about: object) -> timedelta:
        """A random part of the whole, in milliseconds."""
        return whole * self.draw(*about) // MILLISECOND * MILLISECOND

    def _happens(self, probability: float, *about: object) -> bool:
        return probability > 0 and self.draw(*about) < probability

    def draw(self, *about: object) -> float:
        """A number from 0 up to but without 1, always the same for the same seed and subject."""
        text = "\0".join(map(str, (self.seed, *about)))
        return (int.from_bytes(sha256(text.encode()).digest()[:8]) >> (64 - DIGITS)) / (1 << DIGITS)
