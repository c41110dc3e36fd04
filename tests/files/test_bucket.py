"""What the bucket gives and takes."""

from datetime import timedelta
from hashlib import md5
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from mypy_boto3_s3 import S3Client

from handlers.files.bucket import Bucket, open_bucket
from handlers.files.errors import TooLarge
from handlers.files.reading import Stored
from tests.files.conftest import NAME


def etag(data: bytes) -> str:
    """What S3 calls the content of a plain put."""
    return md5(data, usedforsecurity=False).hexdigest()


def test_what_was_put_is_read_with_its_etag_and_type(bucket: Bucket) -> None:
    put = bucket.put("images/a.jpg", b"picture", content_type="image/jpeg")
    assert put == Stored("images/a.jpg", 7, etag(b"picture"), "image/jpeg")
    content = bucket.read("images/a.jpg", at_most=7)
    assert (content.data, content.stored) == (b"picture", put)
    assert bucket.find("images/a.jpg") == put


def test_a_second_put_replaces_the_object_and_its_etag(bucket: Bucket) -> None:
    bucket.put("a", b"one", content_type="text/plain")
    bucket.put("a", b"other", content_type="text/csv")
    assert bucket.find("a") == Stored("a", 5, etag(b"other"), "text/csv")


def test_what_is_not_there_is_not_found(bucket: Bucket) -> None:
    assert bucket.find("nothing") is None


def test_more_than_the_limit_is_refused_before_a_byte_is_read(bucket: Bucket) -> None:
    bucket.put("a", b"12345678", content_type="text/plain")
    with pytest.raises(TooLarge) as refused, bucket.open("a", at_most=7):
        pytest.fail("it was opened")
    assert str(refused.value) == f"s3://{NAME}/a has 8 bytes: allowed are at most 7"
    assert (refused.value.size, refused.value.limit) == (8, 7)


def test_an_open_object_is_read_in_pieces(bucket: Bucket) -> None:
    bucket.put("a", b"abcdefg", content_type="text/plain")
    with bucket.open("a", at_most=100) as reading:
        assert [reading.read(3), reading.read(3), reading.read(3), reading.read(3)] == [b"abc", b"def", b"g", b""]
        assert reading.stored.size == 7


def test_a_link_opens_the_object_without_credentials(bucket: Bucket) -> None:
    bucket.put("exports/a b.csv", b"1,2", content_type="text/csv")
    link = open_bucket(NAME).presign("exports/a b.csv", timedelta(hours=6))
    asked = parse_qs(urlsplit(link).query)
    # Version 4 is the one that every region takes.
    assert (asked["X-Amz-Expires"], asked["X-Amz-Algorithm"]) == (["21600"], ["AWS4-HMAC-SHA256"])
    assert requests.get(link, timeout=5).content == b"1,2"


@pytest.mark.parametrize("expires", [timedelta(), timedelta(days=7, seconds=1)])
def test_a_link_for_longer_than_s3_allows_is_refused(bucket: Bucket, expires: timedelta) -> None:
    with pytest.raises(ValueError, match="allowed is 1 second to 7 days"):
        bucket.presign("a", expires)


def test_a_bucket_is_opened_by_name_with_the_credentials_of_the_process(s3: S3Client) -> None:
    open_bucket(NAME).put("a", b"1", content_type="text/plain")
    assert s3.get_object(Bucket=NAME, Key="a")["Body"].read() == b"1"
