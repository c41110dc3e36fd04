"""What a message may hold: what JSON, SQS and the ledger's `jsonb` all give back as it was."""

import math
from collections.abc import Mapping
from typing import Any

# Python's own JSON reader gives up at about a thousand; nobody reads what is that deep.
DEEPEST = 100
# int() reads no more digits than 4,300 from text (Python manual, "Integer string conversion length limitation").
LARGEST_NUMBER = 10**1000


class MalformedMessage(ValueError):
    """What is no message, or cannot be one; the text says what, where, and what is allowed."""

    def __init__(self, complaint: str) -> None:
        super().__init__(f"malformed message: {complaint}")


def unfit_text(name: str, value: object, longest: int) -> str | None:
    """Why this is no word to tell runs apart by; None when it is one. longest: characters."""
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        shown = ascii(value)[:60]
        if isinstance(value, str) and value:
            shown = f"{value[:40]!a}..., {len(value)} characters"
        return f"{name} is {shown}: allowed is 1 to {longest} characters"
    if any(ord(each) < 32 or 127 <= ord(each) < 160 for each in value) or _unfit(value):
        return f"{name} is {value[:60]!a}: allowed is text without control characters and lone surrogates"
    return None


def unfit_payload(payload: object) -> str | None:
    """Why the payload cannot be sent and kept; None when it can."""
    if not isinstance(payload, Mapping):
        return f"payload is of type {type(payload).__name__}: allowed is an object such as {{'order': 42}}"
    todo: list[tuple[_Place, Any]] = [(_Place(), payload)]
    while todo:
        place, value = todo.pop()
        if place.depth > DEEPEST:
            return f"{place} is more than {DEEPEST} levels deep: allowed is less"
        if isinstance(value, dict) or value is payload:
            for name in value:
                if not isinstance(name, str):
                    return f"{place} has the name {name!a}: allowed is text"
                if wrong := _unfit(name):
                    return f"{place} has the name {name[:60]!a} {wrong}"
            todo.extend((_Place(place, name), each) for name, each in value.items())
        elif isinstance(value, list | tuple):
            todo.extend((_Place(place, number), each) for number, each in enumerate(value))
        elif wrong := _wrong_leaf(value):
            return f"{place} is {wrong}"
    return None


class _Place:
    """Where in a payload a value stands. Spelt out only for a complaint: a megabyte has many places."""

    __slots__ = ("_step", "_whole", "depth")

    def __init__(self, whole: "_Place | None" = None, step: str | int = "payload") -> None:
        self._whole, self._step = whole, step
        self.depth: int = 1 if whole is None else whole.depth + 1

    def __str__(self) -> str:
        steps: list[str] = []
        place: _Place | None = self
        while place is not None:
            step = place._step
            steps.append(f"[{step}]" if isinstance(step, int) else ascii(step[:40])[1:-1])
            place = place._whole
        text = ".".join(reversed(steps)).replace(".[", "[")
        return text if len(text) <= 80 else f"{text[:80]}..."


def _wrong_leaf(value: object) -> str | None:
    match value:
        case None | bool():
            return None
        case str():
            wrong = _unfit(value)
            return wrong and f"{value[:60]!a} {wrong}"
        case int():
            return (
                None
                if -LARGEST_NUMBER < value < LARGEST_NUMBER
                else "a number of more than 1,000 digits: allowed are less"
            )
        case float():
            return None if math.isfinite(value) else f"{value}: allowed are finite numbers"
    return f"of type {type(value).__name__}: allowed is what JSON has, text for a time or an amount"


def _unfit(text: str) -> str | None:
    if "\0" in text:
        return "with the character NUL: allowed is text without it, which PostgreSQL's jsonb cannot hold"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "with a lone surrogate: allowed is text that UTF-8 can write"
    return None
