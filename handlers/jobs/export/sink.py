"""A file on its way to the bucket, weighed and hashed as it goes."""

from __future__ import annotations

import io
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from typing_extensions import Buffer


class Sink(io.RawIOBase):
    """Passes on what is written. size: bytes so far. Closing it leaves the file behind it open."""

    def __init__(self, out: BinaryIO | io.RawIOBase) -> None:
        super().__init__()
        self.size = 0
        self._out = out
        self._hash = sha256()
        self._dropped = False

    @property
    def sha256(self) -> str:
        """Of all bytes so far, in hex digits."""
        return self._hash.hexdigest()

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, data: Buffer, /) -> int:
        """Take all of `data`. Raises what the file behind it raises."""
        view = memoryview(data).cast("B")
        if not self._dropped:
            self._hash.update(view)
            self._out.write(view)
            self.size += len(view)
        return len(view)

    def drop(self) -> None:
        """Take nothing more: what a broken-off format writes as its end, now or when it is forgotten, is of no use."""
        self._dropped = True
