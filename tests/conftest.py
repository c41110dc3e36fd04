"""Databases for all tests. Each test process has servers of its own, started when a test first asks for one."""

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import psycopg
import pytest
from moto.core.config import default_user_config
from xdist.remote import Producer  # type: ignore[import-untyped]

from tests.databases import Server, Template, found_servers, migrated_template
from tests.guard.pgbouncer import PROGRAM
from tests.guard.vanishing import may_vanish
from tests.left_out import NAME, LeftOut
from tests.sharing import BySharing

# Else each test would begin with a new session of boto3, which reads the endpoints of all of AWS.
default_user_config["core"]["reset_boto3_session"] = False
SERVERS = found_servers()
POOLED = ("guard/test_pooler.py", "guard/test_pooled_runs.py", "ops/test_doctor_pooled.py")


def pytest_configure(config: pytest.Config) -> None:
    """Find out what this machine has not the means for."""
    here = Path(__file__).parent
    lacking = {} if PROGRAM.exists() else {here / file: str(PROGRAM) for file in POOLED}
    if not may_vanish():
        lacking[here / "guard/test_vanished.py"] = "a Linux that lets this user filter sockets (CAP_NET_ADMIN)"
    config.pluginmanager.register(LeftOut(lacking), NAME)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without a look for garbage, and keep what was collected out of every later one.

    The first takes a sixth less time; and a process that a test forks would otherwise write to all of it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> BySharing:
    """Hand tests out to the processes by what they share."""
    return BySharing(config, log)


def pytest_report_header() -> str:
    """Say which servers the tests run against."""
    return f"PostgreSQL: {', '.join(map(str, SERVERS))}"


@pytest.fixture
def left_out(pytestconfig: pytest.Config) -> LeftOut:
    """Takes note of what a test finds out that it has not the means for."""
    plugin = pytestconfig.pluginmanager.get_plugin(NAME)
    assert isinstance(plugin, LeftOut)
    return plugin


@pytest.fixture(scope="session")
def template_on() -> Iterator[Callable[[Server], Template]]:
    """The migrated template of a server, made once."""
    with ExitStack() as stack:
        yield cache(lambda server: stack.enter_context(migrated_template(server)))


@pytest.fixture
def database_url(template_on: Callable[[Server], Template]) -> Iterator[str]:
    """The libpq URL of a migrated database that is this test's own."""
    with template_on(SERVERS[0]).clone() as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[psycopg.Connection]:
    """An autocommit connection to the database of `database_url`."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(params=SERVERS, ids=lambda server: server.name)
def every_server_url(request: pytest.FixtureRequest, template_on: Callable[[Server], Template]) -> Iterator[str]:
    """Like `database_url`, on every server in turn."""
    with template_on(request.param).clone() as url:
        yield url


@pytest.fixture
def every_database(every_server_url: str) -> Iterator[psycopg.Connection]:
    """An autocommit connection to the database of `every_server_url`."""
    with psycopg.connect(every_server_url, autocommit=True) as connection:
        yield connection
