"""The server that simulations make their scratch databases on."""

from collections.abc import Callable

import pytest

from tests.conftest import SERVERS
from tests.databases import Server, Template


@pytest.fixture(scope="session")
def server_url(template_on: Callable[[Server], Template]) -> str:
    """The URL of a superuser on the tests' own server."""
    return template_on(SERVERS[0]).url
