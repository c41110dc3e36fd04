"""S3's answers and the network's failures as our errors. The SDK is imported when something has gone wrong in it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from handlers.files.errors import (
    AccessDenied,
    BadCredentials,
    FileError,
    NoSuchBucket,
    NoSuchFile,
    Refused,
    Unreachable,
    UploadGone,
)

# The IAM action that a call needs, where it has another name ("Actions, resources, and condition keys for Amazon S3").
GRANTS = {
    "HeadObject": "s3:GetObject",
    "CreateMultipartUpload": "s3:PutObject",
    "UploadPart": "s3:PutObject",
    "CompleteMultipartUpload": "s3:PutObject",
}
# "Error responses", Amazon S3 API reference. The answer to HEAD has no body: its code is the number of the status.
DENIED = ("AccessDenied", "403")
MISSING = ("NoSuchKey", "404")
CREDENTIALS = ("ExpiredToken", "InvalidToken", "InvalidAccessKeyId", "SignatureDoesNotMatch")
LATER = ("SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout")


def refusal(action: str, bucket: str, key: str, answer: Mapping[str, Any]) -> FileError:
    """Our error for an error response of S3 to `action`, as botocore's `ClientError.response` has it."""
    code, said = str(answer["Error"].get("Code", "")), str(answer["Error"].get("Message", "")).partition("\n")[0]
    status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in MISSING:
        return NoSuchFile(bucket, key)
    if code == "NoSuchBucket":
        return NoSuchBucket(bucket)
    if code == "NoSuchUpload":
        return UploadGone(bucket, key)
    if code in DENIED:
        return AccessDenied(bucket, key, GRANTS.get(action, f"s3:{action}"))
    if code in CREDENTIALS:
        return BadCredentials(f"{code}, {said}")
    if code in LATER or status >= 500:
        return Unreachable(bucket, f"S3 answers {code}, {said.rstrip('.')}")
    return Refused(bucket, key, action, code, said)


@contextmanager
def our_errors(action: str, bucket: str, key: str) -> Iterator[None]:
    """Raise a FileError for whatever the SDK raises in this block, which makes the S3 call `action`.

    A wrong argument stays the SDK's own error: it is the caller's mistake.
    """
    try:
        yield
    except Exception as error:
        translated = _translate(action, bucket, key, error)
        if translated is None:
            raise
        raise translated from error


def _translate(action: str, bucket: str, key: str, error: Exception) -> FileError | None:
    from botocore import exceptions

    if isinstance(error, exceptions.ClientError):
        return refusal(action, bucket, key, error.response)
    if isinstance(
        error,
        exceptions.NoCredentialsError | exceptions.PartialCredentialsError | exceptions.CredentialRetrievalError,
    ):
        return BadCredentials(_line(error))
    if isinstance(
        error,
        exceptions.ConnectionError
        | exceptions.HTTPClientError
        | exceptions.IncompleteReadError
        | exceptions.FlexibleChecksumError,
    ):
        return Unreachable(bucket, _line(error))
    return None


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
