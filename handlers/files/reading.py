"""An object of the bucket while it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handlers.files.answers import our_errors

if TYPE_CHECKING:
    from botocore.response import StreamingBody


@dataclass(frozen=True, slots=True)
class Stored:
    """What S3 knows of an object. size: bytes. etag: without quotes; another content has another one."""

    key: str
    size: int
    etag: str
    content_type: str


@dataclass(frozen=True, slots=True)
class Content:
    """A whole object: what S3 knows of it, and its bytes, from one answer."""

    stored: Stored
    data: bytes


class Reading:
    """The bytes of an object as they arrive, once, from first to last."""

    def __init__(self, bucket: str, stored: Stored, body: StreamingBody) -> None:
        self.stored = stored
        self._bucket = bucket
        self._body = body

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, or all that are left; empty at the end. Raises Unreachable when the answer breaks off.

        What arrives is at most `stored.size` bytes: the connection delivers no more than its header has announced.
        """
        with our_errors("GetObject", self._bucket, self.stored.key):
            return self._body.read(None if size < 0 else size)
