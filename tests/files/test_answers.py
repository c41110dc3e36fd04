"""Which of our errors each answer of S3 becomes, and what it says."""

import boto3
import pytest
from botocore.exceptions import ParamValidationError
from moto.core import set_initial_no_auth_action_count
from mypy_boto3_s3 import S3Client

from handlers.files.bucket import Bucket
from handlers.files.errors import (
    AccessDenied,
    BadCredentials,
    FileError,
    NoSuchBucket,
    NoSuchFile,
    Refused,
    Unreachable,
)
from tests.files.conftest import NAME, REGION
from tests.files.raw_answers import answers

MAY_READ = """{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::shiftlock-dev-files/uploads/*"}
]}"""


@pytest.fixture(scope="module")
def reading_client(service: S3Client) -> S3Client:
    """A client for a user who may read uploads/ and nothing else."""
    iam = boto3.client("iam")
    iam.create_user(UserName="reader")
    iam.put_user_policy(UserName="reader", PolicyName="reads", PolicyDocument=MAY_READ)
    keys = iam.create_access_key(UserName="reader")["AccessKey"]
    return client_of(keys["AccessKeyId"], keys["SecretAccessKey"])


@pytest.fixture
def reader(bucket: Bucket, reading_client: S3Client) -> Bucket:
    """The bucket for that user."""
    return Bucket(bucket.name, reading_client)


def client_of(key_id: str, secret: str) -> S3Client:
    """A client with those keys."""
    return boto3.client("s3", REGION, aws_access_key_id=key_id, aws_secret_access_key=secret)


def test_a_key_without_an_object_is_no_such_file(bucket: Bucket) -> None:
    with pytest.raises(NoSuchFile, match=f"there is no s3://{NAME}/uploads/a.jpg: upload it first"):
        bucket.read("uploads/a.jpg", at_most=1)


def test_a_missing_bucket_is_named_for_what_it_is(s3: S3Client) -> None:
    bucket = Bucket("another-bucket", s3)
    with pytest.raises(NoSuchBucket, match="there is no bucket another-bucket: see that SHIFTLOCK_FILES names"):
        bucket.read("a", at_most=1)
    with pytest.raises(NoSuchBucket):
        bucket.put("a", b"", content_type="text/plain")
    with pytest.raises(NoSuchBucket):
        bucket.writer("a", content_type="text/plain").close()


def test_a_denied_read_says_which_grant_is_missing_and_that_the_file_may_be(reader: Bucket) -> None:
    @set_initial_no_auth_action_count(0)
    def denied() -> AccessDenied:
        with pytest.raises(AccessDenied) as raised:
            reader.read("exports/a", at_most=1)
        return raised.value

    error = denied()
    assert str(error) == (
        f"access to s3://{NAME}/exports/a denied (or it is not there, which S3 tells only with s3:ListBucket): "
        "the role needs s3:GetObject on it"
    )
    assert error.grant == "s3:GetObject"


def test_a_denied_look_needs_the_grant_to_read(reader: Bucket) -> None:
    @set_initial_no_auth_action_count(0)
    def denied() -> None:
        with pytest.raises(AccessDenied) as raised:
            reader.find("exports/a")
        assert raised.value.grant == "s3:GetObject"

    denied()


def test_a_denied_write_needs_the_grant_to_write_however_it_is_sent(reader: Bucket) -> None:
    @set_initial_no_auth_action_count(0)
    def denied() -> None:
        with pytest.raises(AccessDenied, match=f"s3://{NAME}/uploads/a denied: the role needs s3:PutObject on it"):
            reader.put("uploads/a", b"1", content_type="text/plain")
        with pytest.raises(AccessDenied, match="the role needs s3:PutObject on it"):
            reader.writer("uploads/a", content_type="text/plain").write(bytes(9 * 1024 * 1024))

    denied()


def test_keys_that_aws_does_not_know_are_bad_credentials(s3: S3Client) -> None:
    stranger = Bucket(NAME, client_of("AKIAIOSFODNN7EXAMPLE", "none"))

    @set_initial_no_auth_action_count(0)
    def refused() -> None:
        with pytest.raises(BadCredentials, match=r"InvalidAccessKeyId.*; give the process a role, or renew its keys"):
            stranger.read("a", at_most=1)

    refused()


@pytest.mark.parametrize(
    ("status", "code"), [(400, "ExpiredToken"), (400, "InvalidToken"), (403, "SignatureDoesNotMatch")]
)
def test_credentials_that_are_no_longer_good_are_bad_credentials(
    bucket: Bucket, s3: S3Client, status: int, code: str
) -> None:
    said = f"no AWS credentials that S3 takes: {code}, as S3 says it"
    with answers(s3, "GetObject", status, code), pytest.raises(BadCredentials, match=said):
        bucket.read("a", at_most=1)


@pytest.mark.parametrize(
    ("status", "code"),
    [(503, "SlowDown"), (503, "ServiceUnavailable"), (500, "InternalError"), (400, "RequestTimeout"), (502, "Odd")],
)
def test_an_s3_that_asks_to_come_back_later_is_unreachable_after_the_clients_own_tries(
    bucket: Bucket, s3: S3Client, monkeypatch: pytest.MonkeyPatch, status: int, code: str
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
    said = f"bucket {NAME} unreachable: S3 answers {code}, as S3 says it; try again"
    with answers(s3, "PutObject", status, code) as tries, pytest.raises(Unreachable, match=said):
        bucket.put("a", b"1", content_type="text/plain")
    assert len(tries) > 1


def test_any_other_refusal_says_what_was_asked_and_what_s3_said(bucket: Bucket, s3: S3Client) -> None:
    code, said = "KMS.DisabledException", f"PutObject of s3://{NAME}/a refused with KMS.DisabledException: key is off"
    with answers(s3, "PutObject", 400, code, "key is off"), pytest.raises(Refused, match=said):
        bucket.put("a", b"1", content_type="text/plain")


def test_a_wrong_argument_stays_the_callers_mistake(bucket: Bucket) -> None:
    with pytest.raises(ParamValidationError):
        bucket.read("", at_most=1)


def test_every_error_is_a_file_error_of_one_line(bucket: Bucket, s3: S3Client) -> None:
    with answers(s3, "GetObject", 400, "Odd", "two\nlines"), pytest.raises(FileError) as raised:
        bucket.read("a", at_most=1)
    assert "\n" not in str(raised.value)
