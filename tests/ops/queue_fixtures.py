"""The queues of a made-up AWS, for tests of `jobs queue`."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from tests.ops.command import Jobs
from tests.ops.queues import JOB, OTHER, REGION, Queues


@pytest.fixture
def queues(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queues]:
    """Empty queues of two jobs, with their dead letters."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setattr("ops.letters.WAIT", 0)
    with mock_aws():  # which also gives credentials
        sqs = boto3.client("sqs")
        for name in (JOB, OTHER):
            for kind in ("", "_dead-letters"):
                sqs.create_queue(QueueName=f"shiftlock-dev-{name}{kind}")
        yield Queues(sqs, jobs)
