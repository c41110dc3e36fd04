"""Databases to play runs in: the ledger, and what notes every move and every effect."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import conninfo, sql

from handlers.guard.migrate import migrate

SCHEMA = Path(__file__).with_name("stage.sql")
CREATE = sql.SQL("create database {name} template {like}")


def make_stages(url: str, number: int) -> Iterator[str]:
    """Make so many databases on the server of `url`, and yield their own URLs; all but the first are copies."""
    first = "stage_0"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(CREATE.format(name=sql.Identifier(first), like=sql.Identifier("template0")))
        with psycopg.connect(url, dbname=first, autocommit=True) as connection:
            migrate(connection)
            set_up(connection)
        copies = [f"stage_{copy}" for copy in range(1, number)]
        for name in copies:
            admin.execute(CREATE.format(name=sql.Identifier(name), like=sql.Identifier(first)))
    for name in (first, *copies):
        yield conninfo.make_conninfo(url, dbname=name)


def set_up(connection: psycopg.Connection) -> None:
    """Let a migrated database note moves and effects."""
    connection.execute(SCHEMA.read_bytes())
