"""A queue for each test, a log of its own, and this process as the job's function."""

from collections.abc import Callable, Iterator
from io import StringIO
from uuid import uuid4

import psycopg
import pytest
from aws_lambda_powertools.logging import Logger

from handlers.declaration.catalogue import declare
from handlers.declaration.job import Job
from handlers.runtime.consume import Consumer
from tests.runtime.queues.post import REGION, Post, consumer_of, effects_in, mocked_post, queued
from tests.runtime.sandbox import environment


@pytest.fixture
def effects(database: psycopg.Connection) -> psycopg.Connection:
    return effects_in(database)


@pytest.fixture
def post() -> Iterator[Post]:
    with mocked_post() as made:
        yield made


@pytest.fixture
def ordered() -> Iterator[Post]:
    with mocked_post(fifo=True) as made:
        yield made


@pytest.fixture
def written() -> StringIO:
    """What is logged."""
    return StringIO()


@pytest.fixture
def log(written: StringIO) -> Logger:
    # A service of its own: Powertools keeps one stream for each.
    return Logger(service=f"queue of {uuid4()}", stream=written, location=None)


@pytest.fixture
def function_of(database_url: str, monkeypatch: pytest.MonkeyPatch, log: Logger) -> Callable[..., None]:
    """Make this process the function of a job."""

    def set_up(job: Job, post: Post, url: str = database_url) -> None:
        monkeypatch.setattr("handlers.runtime.lambda_entry.SCHEDULE", declare(job))
        variables = environment(url, SHIFTLOCK_JOB="sample", SHIFTLOCK_QUEUES=post.base, AWS_DEFAULT_REGION=REGION)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("handlers.runtime.queue_entry._sqs", lambda: post.sqs)
        monkeypatch.setattr("handlers.runtime.lambda_entry.open_log", lambda: log)
        monkeypatch.setattr("handlers.runtime.attempt.full_jitter", lambda: 0.5)

    return set_up


@pytest.fixture
def consumer(post: Post, database_url: str, log: Logger) -> Consumer:
    return consumer_of(post, database_url, queued(), log)
