"""A multipart upload: parts are sent one by one, and the object appears when it is completed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from handlers.files.answers import our_errors
from handlers.files.errors import FileError, TooLarge, UploadGone

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MEBIBYTE = 1024 * 1024
# "Amazon S3 multipart upload limits": parts of 5 MiB or more but for the last, and at most 10,000 of them.
SMALLEST_PART = 5 * MEBIBYTE
MOST_PARTS = 10_000


class Upload:
    """One upload to `key`, begun with its first part. Every method raises FileError."""

    def __init__(self, s3: S3Client, bucket: str, key: str, content_type: str) -> None:
        self._s3, self._bucket, self._key, self._content_type = s3, bucket, key, content_type
        self._id: str | None = None
        self._parts: list[Any] = []

    @property
    def begun(self) -> bool:
        """Whether S3 holds parts that are neither completed nor aborted."""
        return self._id is not None

    def put(self, data: bytes) -> None:
        """Write the whole object by one plain call, without an upload."""
        with our_errors("PutObject", self._bucket, self._key):
            self._s3.put_object(Bucket=self._bucket, Key=self._key, Body=data, ContentType=self._content_type)

    def send(self, data: bytes) -> None:
        """Send the next part. Raises TooLarge when there are 10,000 already."""
        if len(self._parts) == MOST_PARTS:
            raise TooLarge(self._bucket, self._key, (MOST_PARTS + 1) * len(data), MOST_PARTS * len(data))
        if self._id is None:
            with our_errors("CreateMultipartUpload", self._bucket, self._key):
                begun = self._s3.create_multipart_upload(
                    Bucket=self._bucket, Key=self._key, ContentType=self._content_type
                )
            self._id = begun["UploadId"]
        number = len(self._parts) + 1
        with our_errors("UploadPart", self._bucket, self._key):
            sent = self._s3.upload_part(
                Bucket=self._bucket, Key=self._key, UploadId=self._id, PartNumber=number, Body=data
            )
        # The SDK adds checksums on its own, and an upload that was begun with them is completed only with all of them.
        checksums = {name: value for name, value in sent.items() if name.startswith("Checksum")}
        self._parts.append({"PartNumber": number, "ETag": sent["ETag"], **checksums})

    def complete(self) -> None:
        """Make the object of the parts that were sent."""
        if self._id is None:
            raise ValueError(f"no part of s3://{self._bucket}/{self._key} was sent: use put")
        with our_errors("CompleteMultipartUpload", self._bucket, self._key):
            self._s3.complete_multipart_upload(
                Bucket=self._bucket, Key=self._key, UploadId=self._id, MultipartUpload={"Parts": self._parts}
            )
        self._id = None

    def abort(self) -> None:
        """Have S3 drop the parts. They stay, unseen and paid for, when that fails: the lifecycle rule is for them."""
        if self._id is None:
            return
        upload, self._id = self._id, None
        with suppress(UploadGone), our_errors("AbortMultipartUpload", self._bucket, self._key):
            self._s3.abort_multipart_upload(Bucket=self._bucket, Key=self._key, UploadId=upload)

    def abort_after(self, error: BaseException) -> None:
        """Abort because of `error`. A failure of that never hides it: it becomes a note of the error."""
        try:
            self.abort()
        except FileError as failed:
            error.add_note(f"and its upload was not aborted: {failed}")
