"""Reading events: what is not there, or is of another kind, is named."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from handlers.runtime.identity import LARGEST_ID

Json = Mapping[str, Any]

# Of a foreign text in the ledger, or in a log line (characters).
LONGEST = 400


class UnreadableEvent(ValueError):
    """The recorder is given what it has no rule for; the message says what it met and what it takes."""


def one_line(text: object) -> str:
    """The text in one line of at most LONGEST characters, without those that no text of PostgreSQL may hold."""
    printable = "".join(letter if letter.isprintable() else " " for letter in str(text))
    line = " ".join(printable.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def text(record: Json, name: str) -> str:
    """The text of this name, not empty. Raises UnreadableEvent."""
    value = record.get(name)
    if isinstance(value, str) and value:
        return value
    raise _wrong(name, value, "a text")


def number(record: Json, name: str) -> int:
    """The whole number of this name. Raises UnreadableEvent."""
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _wrong(name, value, "a whole number")


def part(record: Json, name: str) -> Json:
    """The object of this name. Raises UnreadableEvent."""
    value = record.get(name)
    if isinstance(value, Mapping):
        return value
    raise _wrong(name, value, "an object")


def parts(record: Json, name: str) -> Sequence[Json]:
    """The list of objects of this name, empty where it is not given. Raises UnreadableEvent."""
    value = record.get(name) or []
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return value
    raise _wrong(name, value, "a list of objects")


def instant(record: Json, name: str) -> datetime | None:
    """The time of this name (ISO 8601 with zone), None where there is none that can be read."""
    try:
        at = datetime.fromisoformat(str(record.get(name)))
    except ValueError:
        return None
    return None if at.tzinfo is None else at.astimezone(UTC)


def run_named(value: object) -> int | None:
    """The id of the run that a start names, None where there is none that could be one."""
    digits = str(value)
    if not digits.isascii() or not digits.isdecimal() or len(digits) > len(str(LARGEST_ID)):
        return None
    return int(digits) if int(digits) <= LARGEST_ID else None


def _wrong(name: str, value: object, allowed: str) -> UnreadableEvent:
    return UnreadableEvent(f"{name} is {one_line(repr(value))}: the recorder takes {allowed} there")
