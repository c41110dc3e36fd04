"""Payloads too large for a message: kept in S3 under their own hash, the same one once, and read as they were."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from handlers.queues.clients import one_try

FOLDER = "payloads/"
LARGEST = 100_000_000  # bytes: a job has it in memory as a whole
SCHEME = "s3://"
CONNECT, READ = 2, 30  # seconds
# "Error responses", Amazon S3 API reference: what no later try finds better. Without leave to list, a key that is not
# there is denied and not missing.
FINAL = frozenset({"NoSuchKey", "NoSuchBucket", "AccessDenied", "InvalidObjectState"})


class PayloadTooLarge(ValueError):
    """The payload fits neither a message nor the place for it in S3; the text says how large it is."""


class PayloadUnreadable(Exception):
    """What a message refers to cannot be had. passing: another try may find it; else nobody ever will."""

    def __init__(self, place: str, reason: str, *, passing: bool) -> None:
        self.place, self.passing = place, passing
        super().__init__(f"payload {place}: {reason}")


def folder_of(job: str) -> str:
    """The folder of a job's payloads in the environment's bucket."""
    return f"{FOLDER}{job}/"


def written(payload: Mapping[str, Any]) -> bytes:
    """The payload as it is kept: the same bytes for the same payload, in whichever order its names came."""
    return json.dumps(
        dict(payload), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def keep(payload: Mapping[str, Any], *, job: str, bucket: str, s3: Any = None) -> str:
    """Store a job's payload and return its address, `s3://bucket/payloads/JOB/SHA256`. To do it again does no harm.

    The payload is fit for a message but for its size. s3: a client, opened when not given. Raises PayloadTooLarge
    beyond 100 MB, and what S3 says.
    """
    body = written(payload)
    if len(body) > LARGEST:
        raise too_large(job, len(body))
    key = f"{folder_of(job)}{sha256(body).hexdigest()}"
    (s3 or _open()).put_object(Bucket=bucket, Key=key, Body=body, ContentType="application/json")
    return f"{SCHEME}{bucket}/{key}"


def too_large(job: str, size: int) -> PayloadTooLarge:
    """The error for a payload of so many bytes."""
    return PayloadTooLarge(
        f"a payload for {job} is of {size:,} bytes: allowed are {LARGEST:,}; send where it is instead"
    )


def fetch(place: str, *, job: str, bucket: str, s3: Any = None) -> dict[str, Any]:
    """The payload at the address, if it is one that `keep` gave for this job. Raises PayloadUnreadable.

    Anybody who may send a message may write any address into it: no other is looked at.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # here: a start that has its payload needs no SDK

    folder = f"{SCHEME}{bucket}/{folder_of(job)}"
    digest = place.removeprefix(folder)
    if not place.startswith(folder) or "/" in digest:
        raise PayloadUnreadable(place, f"allowed is an address in {folder}", passing=False)
    try:
        answer = (s3 or _open()).get_object(Bucket=bucket, Key=place.removeprefix(f"{SCHEME}{bucket}/"))
        with answer["Body"] as stream:
            size = answer["ContentLength"]
            if size > LARGEST:
                raise PayloadUnreadable(place, f"it has {size:,} bytes: allowed are {LARGEST:,}", passing=False)
            body: bytes = stream.read()
    except ClientError as error:
        told = error.response.get("Error", {})
        code = told.get("Code", "Unknown")
        raise PayloadUnreadable(place, f"{code}: {told.get('Message')}", passing=code not in FINAL) from error
    except BotoCoreError as error:
        raise PayloadUnreadable(place, str(error), passing=True) from error
    if sha256(body).hexdigest() != digest:
        raise PayloadUnreadable(place, "it is not what was put there: its hash is another", passing=False)
    payload: dict[str, Any] = json.loads(body)
    return payload


def _open() -> Any:
    return one_try("s3", connect=CONNECT, read=READ)
