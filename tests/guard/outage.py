"""Take a database away from everybody, and give it back, without touching the server."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

ALLOW = sql.SQL("alter database {name} allow_connections {allowed}")
END_SESSIONS = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = %s"


def begin_outage(url: str) -> None:
    """From now on the database takes no connection, and those it has are ended."""
    with elsewhere(url) as (admin, name):
        admin.execute(ALLOW.format(name=sql.Identifier(name), allowed=sql.SQL("false")))
        admin.execute(END_SESSIONS, (name,))


def end_outage(url: str) -> None:
    """It takes connections again."""
    with elsewhere(url) as (admin, name):
        admin.execute(ALLOW.format(name=sql.Identifier(name), allowed=sql.SQL("true")))


@contextmanager
def elsewhere(url: str) -> Iterator[tuple[psycopg.Connection, str]]:
    """A connection to another database of the server, and the name of this one."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, dbname="postgres", autocommit=True) as admin:
        yield admin, str(name)
