"""A POS of three restaurants on a socket of this machine, and a clock that its counts follow."""

from collections.abc import Iterator

import httpx
import pytest

from handlers.pos.client import Pos, Timeouts
from ops.local.pos.server import PosServer
from tests.pos.clock import Clock

# Restaurant 3 is counted once a day, the others by the minute.
ITEMS = {1: range(101, 126), 2: range(201, 204), 3: range(301, 308)}


@pytest.fixture
def clock() -> Clock:
    """What time it is for the POS."""
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Iterator[PosServer]:
    """The POS, answering."""
    with PosServer(ITEMS, seed="tests", clock=clock) as server, server.serving():
        yield server


@pytest.fixture
def pos(server: PosServer) -> Iterator[Pos]:
    """A client of it that has more time than any answer takes."""
    with Pos(httpx.URL(server.url), timeouts=Timeouts(connect=20, read=20, whole=20)) as client:
        yield client
