"""What the made-up POS counts: each number follows from the seed, the item and the time, so nothing is kept.

An item is counted anew every few minutes, each in a rhythm of its own; in one restaurant out of three everything is
counted once a day. A restaurant's changes are the newest count of each item, in the order of counting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

MINUTE, DAY = 60.0, 86_400.0
MOST_ITEMS = 1000  # of one restaurant, so that sequence numbers of two periods never meet


@dataclass(frozen=True, slots=True)
class Change:
    """An item's count. sequence grows with time within a restaurant, and no two changes there have the same."""

    sequence: int
    item: int
    on_hand: int


def changes(seed: str, restaurant: int, items: Sequence[int], at: float) -> list[Change]:
    """The newest change of each item at a time (seconds since 1970), oldest first."""
    daily = restaurant % 3 == 0
    now = int(at // (DAY if daily else MINUTE))
    found = []
    for place, item in enumerate(items):
        rhythm = 1 if daily else 3 + _number(seed, item) % 40
        counted = now - (now - _number(seed, item, "phase")) % rhythm
        found.append(Change(counted * MOST_ITEMS + place, item, _number(seed, item, counted) % 300))
    return sorted(found, key=lambda change: change.sequence)


def _number(*parts: object) -> int:
    return int.from_bytes(sha256("/".join(map(str, parts)).encode()).digest()[:4])
