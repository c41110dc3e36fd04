"""Servers that listen on TCP (a Unix socket has no keepalives), a pooler, users of the roles, runs that wait."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import psycopg
import pytest

from handlers.guard.roles import READER, RUNNER
from ops.local.postgres import server
from tests.databases import Server, Template, found_servers, migrated_template
from tests.guard.logins import login
from tests.guard.parents import Waits, waiting_parent
from tests.guard.pgbouncer import pgbouncer


@pytest.fixture(scope="session", params=found_servers(), ids=lambda server: server.name)
def tcp_template(request: pytest.FixtureRequest) -> Iterator[Template]:
    """The migrated template of every server in turn, by way of TCP."""
    chosen: Server = request.param
    with ExitStack() as stack:
        url = chosen.url or stack.enter_context(server(None, fast=True, binaries=chosen.binaries, tcp=True))
        yield stack.enter_context(migrated_template(Server(chosen.name, url=url)))


@pytest.fixture
def tcp_url(tcp_template: Template) -> Iterator[str]:
    """The libpq URL of a migrated database that is this test's own, over TCP."""
    with tcp_template.clone() as url:
        yield url


@pytest.fixture
def tcp_database(tcp_url: str) -> Iterator[psycopg.Connection]:
    """An autocommit connection to the database of `tcp_url`."""
    with psycopg.connect(tcp_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def pooled_url(tcp_url: str) -> Iterator[str]:
    """The way to the database of `tcp_url` through a PgBouncer that pools transactions."""
    with pgbouncer(tcp_url) as url:
        yield url


@pytest.fixture
def runner_url(every_server_url: str) -> Iterator[str]:
    """The database as a job's user has it."""
    with login(every_server_url, RUNNER) as url:
        yield url


@pytest.fixture
def reader_url(every_server_url: str) -> Iterator[str]:
    """The database as a person's user has it."""
    with login(every_server_url, READER) as url:
        yield url


@pytest.fixture
def runner(runner_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(runner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def reader(reader_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(reader_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def waits(every_server_url: str, every_database: psycopg.Connection) -> Waits:
    """Makes a parent that waits for so many `children` and lets a share of them fail; its id."""
    return partial(waiting_parent, every_server_url, every_database)
