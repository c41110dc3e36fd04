"""Whether the values of a record are of the types that its fields declare: what is not can be judged no further."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from handlers.declaration.cron import Cron

# What a person writes there. Of a record it is the call, such as Retry(...).
WRITTEN = {
    str: "text in quotes",
    int: "a whole number",
    bool: "True or False",
    timedelta: "a span such as minutes(5)",
    Cron: "a schedule such as cron('0 2 * * ? *')",
    tuple: "a tuple of words such as ('a', 'b'), or ('a',) for one",
}
LONGEST_SHOWN = 80  # characters


def wrong_types(record: Any, within: str = "") -> Iterator[str]:
    """Yield `field value: what is allowed` for each field of a dataclass whose value is of another type.

    Fields of records in it are named as `retry.attempts`. within: what stands before a field's name. A Literal is left
    to the checks of values, which name its words.
    """
    for name, types, allowed in _shape(type(record)):  # type: ignore[arg-type]  # mypy takes a class for its instance
        if not types:
            continue
        value = getattr(record, name)
        if not _is_one_of(value, types):
            yield f"{within}{name} {shown(value)}: allowed is {allowed}"
        elif is_dataclass(value):
            yield from wrong_types(value, f"{within}{name}.")


def shown(value: object) -> str:
    """The value as it may stand in a complaint: on one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _is_one_of(value: object, types: tuple[type, ...]) -> bool:
    if isinstance(value, tuple):
        return tuple in types and all(isinstance(each, str) for each in value)
    # True is an int to Python, and no number to anybody who writes a table.
    return type(value) in types or (isinstance(value, types) and not isinstance(value, bool))


@cache
def _shape(record: type) -> tuple[tuple[str, tuple[type, ...], str], ...]:
    """Of each field the name, the types that it may have (none: any), and what is allowed, in words."""
    hints = get_type_hints(record)
    return tuple((field.name, *_allowed(hints[field.name])) for field in fields(record))


def _allowed(hint: Any) -> tuple[tuple[type, ...], str]:
    if get_origin(hint) is Literal:
        return (), ""
    types = tuple(_plain(each) for each in (get_args(hint) if isinstance(hint, UnionType) else (hint,)))
    words = [WRITTEN.get(each, f"{each.__name__}(...)") for each in types if each is not type(None)]
    return types, ", or ".join([*words, "None"] if type(None) in types else words)


def _plain(hint: Any) -> type:
    if hint == tuple[str, ...]:
        return tuple
    if isinstance(hint, type):
        return hint
    raise TypeError(f"nothing here knows whether a value is of type {hint}")
