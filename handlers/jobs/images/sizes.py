"""Which sizes are made of a picture, and under which keys they are written."""

from collections.abc import Sequence
from hashlib import sha256

Size = tuple[int, int]
"""Width and height in pixels."""


def sizes(original: Size, widths: Sequence[int]) -> list[Size]:
    """The sizes to make, from narrow to wide, with the original's proportions.

    Nothing is made wider than it was: for all widths beyond the original's there is one image in its own size.
    """
    width, height = original
    return [(narrow, max(1, round(height * narrow / width))) for narrow in sorted({min(width, one) for one in widths})]


def source_id(source: str, etag: str) -> str:
    """A name for one content of one source: 32 hexadecimal digits. Another upload to the same key has another name.

    So what is under a key never changes, a cache may keep it, and a late run for an older upload spoils nothing.
    """
    return sha256(f"{source}\0{etag}".encode()).hexdigest()[:32]


def image_key(identity: str, width: int, extension: str) -> str:
    """Where the image of that width is written."""
    return f"images/{identity}/{width}.{extension}"
