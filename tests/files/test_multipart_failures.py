"""Files that could not be written to their end."""

from contextlib import suppress

import pytest
from mypy_boto3_s3 import S3Client

from handlers.files.bucket import Bucket
from handlers.files.errors import AccessDenied, FileError, TooLarge, Unreachable, UploadGone
from tests.files.conftest import NAME
from tests.files.raw_answers import answers
from tests.files.uploads import PART, BrokenBlock, uploads


def test_a_part_that_is_refused_aborts_the_upload(bucket: Bucket, s3: S3Client) -> None:
    with (
        answers(s3, "UploadPart", 403, "AccessDenied"),
        pytest.raises(AccessDenied, match="the role needs s3:PutObject on it"),
        bucket.writer("a", content_type="text/plain", part=PART) as out,
    ):
        out.write(bytes(PART))
    assert (bucket.find("a"), uploads(s3)) == (None, [])


def test_a_failed_write_that_is_passed_over_is_no_file_at_the_end(bucket: Bucket, s3: S3Client) -> None:
    with (
        pytest.raises(AccessDenied),
        bucket.writer("a", content_type="text/plain", part=PART) as out,
        answers(s3, "UploadPart", 403, "AccessDenied"),
        suppress(FileError),
    ):
        out.write(bytes(PART))
    assert bucket.find("a") is None


def test_an_upload_that_was_aborted_elsewhere_is_gone(bucket: Bucket, s3: S3Client) -> None:
    out = bucket.writer("a", content_type="text/plain", part=PART)
    out.write(bytes(PART))
    [upload] = s3.list_multipart_uploads(Bucket=NAME)["Uploads"]
    s3.abort_multipart_upload(Bucket=NAME, Key="a", UploadId=upload["UploadId"])
    gone = f"the upload to s3://{NAME}/a is gone, aborted or ended elsewhere: write the file again"
    with answers(s3, "UploadPart", 404, "NoSuchUpload"), pytest.raises(UploadGone, match=gone) as raised:
        out.write(bytes(PART))
    assert not hasattr(raised.value, "__notes__")  # that it could not be aborted either is no news
    with pytest.raises(UploadGone):
        out.close()
    assert bucket.find("a") is None


def test_an_abort_that_fails_is_a_note_of_the_blocks_own_error(
    bucket: Bucket, s3: S3Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
    error = BrokenBlock()
    with (
        answers(s3, "AbortMultipartUpload", 503, "SlowDown"),
        suppress(BrokenBlock),
        bucket.writer("a", content_type="text/plain", part=PART) as out,
    ):
        out.write(bytes(PART))
        raise error
    [note] = error.__notes__
    assert note.startswith(f"and its upload was not aborted: bucket {NAME} unreachable: S3 answers SlowDown")


def test_an_abort_that_is_asked_for_says_when_it_fails(bucket: Bucket, s3: S3Client) -> None:
    out = bucket.writer("a", content_type="text/plain", part=PART)
    out.write(bytes(PART))
    with (
        answers(s3, "AbortMultipartUpload", 403, "AccessDenied"),
        pytest.raises(AccessDenied, match="the role needs s3:AbortMultipartUpload on it"),
    ):
        out.abort()
    assert bucket.find("a") is None


def test_a_completion_that_is_refused_leaves_no_parts(
    bucket: Bucket, s3: S3Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
    with (
        answers(s3, "CompleteMultipartUpload", 500, "InternalError"),
        pytest.raises(Unreachable, match="S3 answers InternalError"),
        bucket.writer("a", content_type="text/plain", part=PART) as out,
    ):
        out.write(bytes(PART))
    assert (bucket.find("a"), uploads(s3)) == (None, [])


def test_more_parts_than_s3_has_are_too_large(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handlers.files.upload.MOST_PARTS", 1)
    with (
        pytest.raises(TooLarge, match=f"s3://{NAME}/a has 10,485,760 bytes: allowed are at most 5,242,880"),
        bucket.writer("a", content_type="text/plain", part=PART) as out,
    ):
        out.write(bytes(2 * PART))
    assert bucket.find("a") is None
