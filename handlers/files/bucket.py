"""`Bucket`: files by key, whole or as they come and go."""

from __future__ import annotations

from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from handlers.aws_clients import open_client
from handlers.files.answers import our_errors
from handlers.files.errors import NoSuchFile, TooLarge
from handlers.files.multipart import PART, MultipartWriter
from handlers.files.reading import Content, Reading, Stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import GetObjectOutputTypeDef, HeadObjectOutputTypeDef

# "Download and upload objects with presigned URLs", Amazon S3 user guide.
LONGEST_LINK = timedelta(days=7)


class Bucket:
    """One bucket. Every method that calls S3 raises FileError: see `errors`."""

    def __init__(self, name: str, s3: S3Client) -> None:
        self.name = name
        self._s3 = s3

    def find(self, key: str) -> Stored | None:
        """Size, etag and content type of the object; None when there is none."""
        try:
            with our_errors("HeadObject", self.name, key):
                return _stored(key, self._s3.head_object(Bucket=self.name, Key=key))
        except NoSuchFile:
            return None

    @contextmanager
    def open(self, key: str, *, at_most: int) -> Iterator[Reading]:
        """The object's bytes as they arrive. Raises TooLarge for more than `at_most` bytes, before one is read."""
        with our_errors("GetObject", self.name, key):
            answer = self._s3.get_object(Bucket=self.name, Key=key)
        with closing(answer["Body"]) as body:
            stored = _stored(key, answer)
            if stored.size > at_most:
                raise TooLarge(self.name, key, stored.size, at_most)
            yield Reading(self.name, stored, body)

    def read(self, key: str, *, at_most: int) -> Content:
        """The whole object, of one version: bytes and etag belong together. Raises TooLarge as `open` does."""
        with self.open(key, at_most=at_most) as reading:
            return Content(reading.stored, reading.read())

    def put(self, key: str, data: bytes, *, content_type: str) -> Stored:
        """Write the object, over one that is there."""
        with our_errors("PutObject", self.name, key):
            answer = self._s3.put_object(Bucket=self.name, Key=key, Body=data, ContentType=content_type)
        return Stored(key, len(data), answer["ETag"].strip('"'), content_type)

    def writer(self, key: str, *, content_type: str, part: int = PART) -> MultipartWriter:
        """A file that becomes the object when it is closed.

        with bucket.writer("exports/orders.csv", content_type="text/csv") as out:
            out.write(b"...")
        """
        return MultipartWriter(self._s3, self.name, key, content_type=content_type, part=part)

    def presign(self, key: str, expires: timedelta) -> str:
        """A link by which anybody can read the object, for 1 second to 7 days. Raises ValueError beyond.

        It ends sooner when the credentials that sign it do: those of a role last some hours.
        """
        if not timedelta(seconds=1) <= expires <= LONGEST_LINK:
            raise ValueError(f"expires {expires}: allowed is 1 second to {LONGEST_LINK.days} days")
        with our_errors("GetObject", self.name, key):
            return self._s3.generate_presigned_url(
                "get_object", Params={"Bucket": self.name, "Key": key}, ExpiresIn=int(expires.total_seconds())
            )


def open_bucket(name: str) -> Bucket:
    """The bucket of that name with a client of its own, in the region and with the credentials of the process."""
    s3 = open_client(
        "s3",
        connect_timeout=3,  # seconds
        read_timeout=20,  # between two pieces of an answer
        retries={"mode": "standard", "total_max_attempts": 4},
        signature_version="s3v4",  # what a link needs in every region
    )
    return Bucket(name, s3)


def _stored(key: str, answer: GetObjectOutputTypeDef | HeadObjectOutputTypeDef) -> Stored:
    return Stored(
        key, answer["ContentLength"], answer["ETag"].strip('"'), answer.get("ContentType", "binary/octet-stream")
    )
