"""The image job by the real runner: what its run comes to in the ledger."""

from collections.abc import Callable, Iterator

import boto3
import psycopg
import pytest
from aws_lambda_powertools.logging import Logger
from moto import mock_aws

from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.files.bucket import Bucket, open_bucket
from handlers.runtime.identity import Delivery
from handlers.runtime.report import Report, Result
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop
from tests.jobs.images.broken import NOT_WHOLE
from tests.jobs.images.pictures import quarters, saved

NAME = "shiftlock-dev-files"
JOB = Job("image-resize", target="handlers.jobs.image_resize:run", queue=Queue(), longest_run=minutes(2))
RUNS = "select run_key, status, attempt, error_msg, result->'images'->0->>'width' from shiftlock.job_runs order by id"

Resize = Callable[[str, str], Report]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A bucket in this process."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():  # which also gives credentials
        location = {"LocationConstraint": "eu-west-1"}
        boto3.client("s3").create_bucket(Bucket=NAME, CreateBucketConfiguration=location)  # type: ignore[arg-type]
        yield open_bucket(NAME)


@pytest.fixture
def resize(database_url: str, bucket: Bucket) -> Resize:
    """Runs the job for a message of that key about that source."""

    def run(key: str, source: str) -> Report:
        runner = Runner(
            settings=Settings("dev", DatabaseUrl(database_url), files=bucket.name),
            observers=(),
            log=Logger(service="shiftlock"),
            compute="test",
            stop=Stop(),
            waits=False,
        )
        return runner.run(JOB, Delivery("queue", None, {"source": source, "widths": [60]}, key=key))

    return run


def test_a_run_ends_with_its_images_or_fails_at_its_first_attempt_with_a_sentence(
    database: psycopg.Connection, bucket: Bucket, resize: Resize
) -> None:
    bucket.put("uploads/whole.jpg", saved(quarters(), "JPEG"), content_type="image/jpeg")
    bucket.put("uploads/half.jpg", NOT_WHOLE["half a JPEG.jpg"](), content_type="image/jpeg")
    whole, half = resize("1", "uploads/whole.jpg"), resize("2", "uploads/half.jpg")
    assert (whole.result, half.result) == (Result.SUCCEEDED, Result.FAILED)
    [first, second] = database.execute(RUNS).fetchall()
    assert first == ("1", "succeeded", 1, None, "60")
    assert second[:3] == ("2", "failed", 1)
    assert second[3].startswith("Fatal: uploads/half.jpg: it cannot be decoded (image file is truncated")
