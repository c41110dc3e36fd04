"""Answers that no S3 in this process gives, sent through botocore's own reading of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import MockRawResponse
from moto.core.models import botocore_stubber
from mypy_boto3_s3 import S3Client

ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'


@contextmanager
def answers(s3: S3Client, action: str, status: int, code: str, message: str = "as S3 says it.") -> Iterator[list[str]]:
    """Have every call of the action answered by this error; the list grows by one URL with each try."""
    headers = {"Content-Type": "application/xml"}
    with _answers(s3, action, status, headers, ERROR.format(code=code, message=message).encode()) as tries:
        yield tries


@contextmanager
def parts_vanish(s3: S3Client) -> Iterator[list[str]]:
    """Have every part accepted and kept nowhere: the S3 of the tests would keep it in this process's memory."""
    with _answers(s3, "UploadPart", 200, {"ETag": '"part"'}, b"") as tries:
        yield tries


@contextmanager
def _answers(s3: S3Client, action: str, status: int, headers: dict[str, str], content: bytes) -> Iterator[list[str]]:
    tries: list[str] = []

    def answer(request: Any, event_name: str, **more: Any) -> Any:
        if not event_name.endswith(f".{action}"):
            return botocore_stubber(event_name, request, **more)
        tries.append(request.url)
        return AWSResponse(request.url, status, HTTPHeaders.from_dict(headers), MockRawResponse(content))

    # In the place of moto's own, which would carry the action out even where another handler answers.
    events: Any = s3.meta.events
    events.unregister("before-send", botocore_stubber)
    events.register("before-send", answer)
    try:
        yield tries
    finally:
        events.unregister("before-send", answer)
        events.register("before-send", botocore_stubber)
