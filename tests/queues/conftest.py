"""The queues that tests publish to."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.queues.post import Answers, Post, answered, make_post


@pytest.fixture
def post() -> Iterator[Post]:
    """Queues in this process."""
    with mock_aws():  # which also gives credentials
        yield make_post()


@pytest.fixture
def answers() -> Iterator[Answers]:
    """A queue that answers as a test says."""
    with answered() as each:
        yield each
