"""What tests of multipart uploads share."""

from mypy_boto3_s3 import S3Client

from handlers.files.upload import SMALLEST_PART
from tests.files.conftest import NAME

PART = SMALLEST_PART


class BrokenBlock(Exception):
    """What a block raises that writes a file."""


def uploads(s3: S3Client) -> list[str]:
    """Keys of the uploads that are neither completed nor aborted."""
    return [upload["Key"] for upload in s3.list_multipart_uploads(Bucket=NAME).get("Uploads", [])]
