"""A file that is written to the bucket while it is being made, in constant memory.

Nothing is to be seen under its key before it is whole, and what was there before stays until then.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from handlers.files.upload import MEBIBYTE, SMALLEST_PART, Upload

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from mypy_boto3_s3 import S3Client
    from typing_extensions import Buffer

PART = 8 * MEBIBYTE


class MultipartWriter(io.RawIOBase):
    """A writable binary file; `Bucket.writer` makes it. What takes a file takes it: csv, gzip, pyarrow.

    Use it in a `with`: the object appears when the block ends, and never when the block raises. Without one, `close`
    makes it appear and `abort` drops it; a writer that is only forgotten makes none. At most one part is held in
    memory, and what is shorter than a part is written by one plain call.
    """

    def __init__(self, s3: S3Client, bucket: str, key: str, *, content_type: str, part: int = PART) -> None:
        """part: bytes; 10,000 of them are the longest file, 78 GiB by default. Raises ValueError below 5 MiB."""
        super().__init__()
        if part < SMALLEST_PART:
            raise ValueError(f"part {part}: allowed are {SMALLEST_PART} bytes or more")
        self.name, self._part = f"s3://{bucket}/{key}", part
        self._upload = Upload(s3, bucket, key, content_type)
        self._buffer = bytearray()
        self._length = 0
        self._failure: BaseException | None = None

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        """Bytes written so far."""
        return self._length

    def write(self, data: Buffer, /) -> int:
        """Take all of `data`, and send each part that becomes full. Raises FileError; the file is lost then."""
        if self.closed or self._failure:
            raise ValueError(f"{self.name} is closed, or could not be written: open another writer")
        view = memoryview(data).cast("B")
        taken = 0
        while taken < len(view):
            piece = view[taken : taken + self._part - len(self._buffer)]
            self._buffer += piece
            taken += len(piece)
            if len(self._buffer) == self._part:
                self._send()
        self._length += taken
        return taken

    def close(self) -> None:
        """Send what is left and make the object appear. Raises FileError; a second call does nothing.

        After a `write` that failed it raises that failure, so that it cannot be taken for a file that was written.
        """
        if self.closed:
            return
        try:
            if self._failure:
                raise self._failure
            if not self._upload.begun:
                self._upload.put(bytes(self._buffer))
                return
            if self._buffer:
                self._send()
            self._upload.complete()
        except BaseException as error:
            self._upload.abort_after(error)
            raise
        finally:
            self._end()

    def abort(self) -> None:
        """Drop what was written. Raises FileError when S3 cannot be told so; the object does not appear then either."""
        try:
            self._upload.abort()
        finally:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        self._upload.abort_after(error)
        self._end()

    def __del__(self) -> None:
        """Do nothing: a file's own way is to close, which would publish a half that nobody has finished."""

    def _send(self) -> None:
        try:
            self._upload.send(bytes(self._buffer))
        except BaseException as error:
            self._failure = error
            self._upload.abort_after(error)
            raise
        self._buffer.clear()

    def _end(self) -> None:
        self._buffer.clear()
        super().close()
