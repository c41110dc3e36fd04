"""One field of a cron expression: the values that its text selects, or what is wrong with it.

The grammar is that of "Cron expressions reference" (Amazon EventBridge user guide). What that page leaves open is
refused where a guess could shift a schedule: a list with an empty part, a year range that runs backwards.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ITEM = re.compile(r"(?P<start>\*|[0-9]+|[A-Z]+)(?:-(?P<end>[0-9]+|[A-Z]+))?(?:/(?P<step>[0-9]+))?")
# A longer number is wrong in every field whatever it says, and int() takes quadratic time to read it.
NUMBER = re.compile(r"[0-9]{1,4}")


class NotAllowed(ValueError):
    """A part of a cron expression that EventBridge has no meaning for; the message says what is allowed."""


@dataclass(frozen=True, slots=True)
class Field:
    """The values a field may hold, from `low` to `high`.

    names: three-letter names; the first stands for `low`.
    steps: whether `/` is allowed. wraps: whether `FRI-MON` is allowed to pass the highest value.
    also: what else the field may hold, for messages.
    """

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    steps: bool = True
    wraps: bool = True
    also: str = ""

    def refusal(self, text: str) -> NotAllowed:
        """The error that says `text` is no value of this field, and which are."""
        names = f" or {self.names[0]}-{self.names[-1]} ({self.low} is {self.names[0]})" if self.names else ""
        wildcards = ", - * /" if self.steps else ", - *"
        return NotAllowed(
            f"{self.name} {text!r}: allowed is {self.low}-{self.high}{names}, with {wildcards}{self.also}"
        )

    def read(self, text: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The sorted values selected by `text` (upper case), and a complaint for each part that is not allowed."""
        values: set[int] = set()
        complaints: list[str] = []
        for item in text.split(","):
            try:
                values.update(self._item(item))
            except NotAllowed as refusal:
                complaints.append(str(refusal))
        return tuple(sorted(values)), tuple(complaints)

    def number(self, text: str) -> int:
        """The value that a number or a name stands for. Raises NotAllowed."""
        if text in self.names:
            return self.low + self.names.index(text)
        if not NUMBER.fullmatch(text) or not self.low <= int(text) <= self.high:
            raise self.refusal(text)
        return int(text)

    def _item(self, text: str) -> Iterable[int]:
        match = ITEM.fullmatch(text)
        if match is None:
            raise self.refusal(text)
        first, last, by = match.groups()
        if (first == "*" and last) or (by and not self.steps):
            raise self.refusal(text)
        step = self._step(text, by) if by else 1
        if first == "*":
            return range(self.low, self.high + 1, step)
        start = self.number(first)
        end = self.number(last) if last else self.high if by else start
        if start <= end:
            return range(start, end + 1, step)
        if not self.wraps:
            raise NotAllowed(f"{self.name} {text!r}: allowed is a range that does not run backwards")
        size = self.high - self.low + 1
        return (self.low + (value - self.low) % size for value in range(start, end + size + 1, step))

    def _step(self, text: str, step: str) -> int:
        widest = min(self.high, self.high - self.low + 1)
        if len(step) > 4 or not 1 <= int(step) <= widest:
            raise NotAllowed(f"{self.name} {text!r}: allowed is a step of 1-{widest}")
        return int(step)


def written(values: Sequence[int]) -> str:
    """The field that selects these values (ascending, not empty): `1,6-7`."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY_OF_MONTH = Field("day-of-month", 1, 31, also=", or alone ? L L-3 15W LW")
MONTH = Field("month", 1, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"))
DAY_OF_WEEK = Field(
    "day-of-week", 1, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), steps=False, also=", or alone ? L 6L 3#2"
)
YEAR = Field("year", 1970, 2199, wraps=False)
