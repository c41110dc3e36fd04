"""What a message asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handlers.jobs.images.unusable import Unusable

FOLDER = "uploads/"
LONGEST_KEY = 1024  # bytes of UTF-8 ("Naming Amazon S3 objects", Amazon S3 user guide)
FIELDS = {"source", "widths"}

# From a list on a phone to the full width of a desktop's page.
USUAL_WIDTHS = (320, 640, 960, 1280, 1920)
WIDEST = 4096
MOST_WIDTHS = 10


@dataclass(frozen=True, slots=True)
class Request:
    """Make images of the object `source`. widths: pixels, ascending, each once."""

    source: str
    widths: tuple[int, ...]


def request(payload: Mapping[str, Any]) -> Request:
    """Read `{"source": "uploads/...", "widths": [320, 960]}`, where widths may be left out. Raises Unusable."""
    if unknown := sorted(set(payload) - FIELDS):
        raise Unusable(f"the payload has {', '.join(unknown)[:60]!r}: allowed are source and widths")
    return Request(_source(payload.get("source")), _widths(payload.get("widths", list(USUAL_WIDTHS))))


def _source(given: object) -> str:
    allowed = f"allowed is the key of a file below {FOLDER}, such as {FOLDER}menu/42.jpg"
    if not isinstance(given, str):
        raise Unusable(f"source is {given!r:.60}: {allowed}")
    parts = given.split("/")
    # S3 takes any key. A dot as a part is read as a folder by many tools, and no key with one comes from our services.
    wrong = (
        not given.startswith(FOLDER)
        or any(part in ("", ".", "..") for part in parts)
        or not given.isprintable()
        or len(given.encode(errors="replace")) > LONGEST_KEY
    )
    if wrong:
        raise Unusable(f"source is {given[:80]!r}: {allowed}")
    return given


def _widths(given: object) -> tuple[int, ...]:
    allowed = f"allowed is a list of 1 to {MOST_WIDTHS} whole numbers from 1 to {WIDEST}, such as [320, 960]"
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MOST_WIDTHS:
        raise Unusable(f"widths is {given!r:.60}: {allowed}")
    for width in given:
        if not isinstance(width, int) or isinstance(width, bool) or not 1 <= width <= WIDEST:
            raise Unusable(f"widths has {width!r:.60}: {allowed}")
    return tuple(sorted(set(given)))
