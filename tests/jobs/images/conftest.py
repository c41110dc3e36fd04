"""The job on a bucket in this process, with the context that jobs get."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

import boto3
import pytest
from aws_lambda_powertools.logging import Logger
from moto import mock_aws
from mypy_boto3_s3 import S3Client

from handlers.declaration.catalogue import Catalogue
from handlers.files.bucket import Bucket
from handlers.guard.answers import Claimed
from handlers.guard.once import Guard
from handlers.runtime.context import Context
from handlers.runtime.observer import RunFacts
from handlers.runtime.outlet import Outlet
from handlers.runtime.stop import Stop

NAME = "shiftlock-dev-files"


@pytest.fixture(scope="module")
def service() -> Iterator[S3Client]:
    """An S3 with one bucket."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():  # which also gives credentials
        patch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        client = boto3.client("s3")
        client.create_bucket(Bucket=NAME, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        yield client


@pytest.fixture
def s3(service: S3Client) -> Iterator[S3Client]:
    """That S3, whose bucket is empty."""
    yield service
    for key in keys(service):
        service.delete_object(Bucket=NAME, Key=key)


@pytest.fixture
def bucket(s3: S3Client) -> Bucket:
    """The environment's bucket."""
    return Bucket(NAME, s3)


@pytest.fixture
def context_of(bucket: Bucket) -> Callable[..., Context]:
    """What the job is given for a payload. Its database is out of reach: the job has no need of it."""

    def make(payload: dict[str, Any], *, stop: Stop | None = None) -> Context:
        claimed = Claimed(
            run_id=1,
            lock_key=1,
            attempt=1,
            infra_failures=0,
            fence=1,
            holder="test",
            tick=None,
            checkpoint=None,
            payload=payload,
            start_delay=0.0,
            began_at=datetime(2026, 11, 28, tzinfo=UTC),
        )
        run = RunFacts("image-resize", "42", None, "queue", run_id=1, attempt=1)
        guard = Guard(_no_database, lease=timedelta(seconds=30), name="test")
        log = Logger(service="shiftlock")
        context = Context(run, claimed, guard, stop or Stop(), log, Outlet(Catalogue(()), files=bucket.name))
        context.__dict__["files"] = bucket  # instead of a client of its own, which takes time to make
        return context

    return make


def keys(s3: S3Client) -> list[str]:
    """What is in the bucket."""
    return [found["Key"] for found in s3.list_objects_v2(Bucket=NAME).get("Contents", [])]


def _no_database(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("the job asked for its database")
