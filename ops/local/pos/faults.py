"""What the POS can be told to do wrong, for tests and for those who want to see the platform bear it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from threading import Lock
from typing import Any, Literal, get_args

# status: that status, with the headers given. body: a right answer's head with another body. truncated: half of the
# body, then the end of the connection. broken: half of the body, and it is said to be all. long: far too much of it.
# silent: not a word until the client leaves. drip: the right answer, too slowly. reset: the connection breaks.
Kind = Literal["status", "body", "truncated", "broken", "long", "silent", "drip", "reset"]
ALLOWED = (
    '[{"kind": "status", "status": 503, "times": 2, "restaurant": 7, "headers": {"Retry-After": "1"}}], kinds '
    + ", ".join(get_args(Kind))
)


class BadFault(ValueError):
    """There is no such fault; the message says which there are."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the next `times` requests of a restaurant, or of any.

    after: how many of them are answered well before. status, headers, body: see Kind.
    """

    kind: Kind
    times: int = 1
    restaurant: int | None = None
    after: int = 0
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass(slots=True)
class _Left:
    fault: Fault
    well: int
    times: int


class Faults:
    """Faults in the order they were given; the first that fits a request strikes. For several threads."""

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self._lock = Lock()
        self.set(faults)

    def set(self, faults: Sequence[Fault]) -> None:
        """Have these and no others."""
        with self._lock:
            self._left = [_Left(fault, fault.after, fault.times) for fault in faults]

    def strike(self, restaurant: int) -> Fault | None:
        """The fault of this request, which is then used up by one."""
        with self._lock:
            for left in self._left:
                if left.times < 1 or left.fault.restaurant not in (None, restaurant):
                    continue
                if left.well < 1:
                    left.times -= 1
                    return left.fault
                left.well -= 1
        return None


def parse_faults(given: Any) -> list[Fault]:
    """Faults from JSON. Raises BadFault."""
    types = {"times": int, "restaurant": int, "after": int, "status": int, "headers": dict, "body": str, "kind": str}
    known = {each.name for each in fields(Fault)}
    if not isinstance(given, list):
        raise BadFault(f"allowed is a list such as {ALLOWED}")
    for place, each in enumerate(given):
        if not isinstance(each, dict) or each.get("kind") not in get_args(Kind):
            raise BadFault(f"fault {place}: allowed is such as {ALLOWED}")
        for name, value in each.items():
            if name not in known or type(value) is not types[name]:
                raise BadFault(f"fault {place}: {name} is {value!r}: allowed is such as {ALLOWED}")
    return [Fault(**each) for each in given]
