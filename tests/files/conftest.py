"""A bucket in this process."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws
from mypy_boto3_s3 import S3Client

from handlers.files.bucket import Bucket

REGION = "eu-west-1"
NAME = "shiftlock-dev-files"


@pytest.fixture(scope="module")
def service() -> Iterator[S3Client]:
    """A client of an S3. A client takes a third of a second to make."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():  # which also gives credentials
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        yield boto3.client("s3")


@pytest.fixture
def s3(service: S3Client) -> Iterator[S3Client]:
    """The client, with one bucket."""
    service.create_bucket(Bucket=NAME, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    yield service
    for upload in service.list_multipart_uploads(Bucket=NAME).get("Uploads", []):
        service.abort_multipart_upload(Bucket=NAME, Key=upload["Key"], UploadId=upload["UploadId"])
    for found in service.list_objects_v2(Bucket=NAME).get("Contents", []):
        service.delete_object(Bucket=NAME, Key=found["Key"])
    service.delete_bucket(Bucket=NAME)


@pytest.fixture
def bucket(s3: S3Client) -> Bucket:
    """That bucket."""
    return Bucket(NAME, s3)
