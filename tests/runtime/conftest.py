"""A process that is the recorder of a test's database, what it logs, and the queues that a relay sends to."""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from aws_lambda_powertools.logging import Logger
from moto import mock_aws

from handlers.declaration.catalogue import declare
from handlers.guard.lock import register
from tests.queues.post import Post, make_post
from tests.runtime.aws_events import PREFIX
from tests.runtime.recording import Events
from tests.runtime.running import sample
from tests.runtime.sandbox import environment


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Events]:
    """The recorder's log lines so far, without what every line has."""
    written = StringIO()
    # A service of its own: Powertools keeps one stream for each.
    log = Logger(service=f"recorder of {uuid4()}", stream=written, location=None)
    monkeypatch.setattr("handlers.runtime.recorder_entry.open_log", lambda: log)

    def lines() -> Events:
        return [
            {name: fact for name, fact in json.loads(line).items() if name not in ("timestamp", "service")}
            for line in written.getvalue().splitlines()
        ]

    return lines


@pytest.fixture
def deployed(
    database_url: str, database: psycopg.Connection, told: Callable[[], Events], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Makes this process the recorder of a table with the one job `sample`, with these limits."""

    def deploy(**limits: Any) -> None:
        monkeypatch.setattr("handlers.runtime.recorder_entry.SCHEDULE", declare(sample("succeed", **limits)))

    for name, value in environment(database_url, SHIFTLOCK_PREFIX=PREFIX).items():
        monkeypatch.setenv(name, value)
    register(database, ["sample"])
    deploy()
    return deploy


@pytest.fixture
def post() -> Iterator[Post]:
    """Queues in this process."""
    with mock_aws():  # which also gives credentials
        yield make_post()
