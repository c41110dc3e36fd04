"""Connections of a person to the ledger, which wait for nothing for long."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg

from handlers.guard.connection import open_connection
from handlers.guard.errors import SchemaTooOld
from handlers.guard.session import SCHEMA_NEEDED
from handlers.runtime.database import connection_strings
from handlers.runtime.settings import Settings

MIGRATED_TO = "select max(number) from shiftlock.migrations"
IMPATIENT = {"statement_timeout": "30s", "lock_timeout": "5s"}
LOOK_ONLY = {"default_transaction_read_only": "on", **IMPATIENT}


def reading(settings: Settings) -> AbstractContextManager[psycopg.Connection]:
    """A connection that can change nothing, closed at the end. Raises DatabaseUnavailable, SchemaTooOld,
    NoCredentials."""
    return _ledger(settings, LOOK_ONLY)


def changing(settings: Settings) -> AbstractContextManager[psycopg.Connection]:
    """The same for a command that changes a run; each statement commits by itself."""
    return _ledger(settings, IMPATIENT)


@contextmanager
def _ledger(settings: Settings, server_settings: dict[str, str]) -> Iterator[psycopg.Connection]:
    connect = connection_strings(settings.database)
    with open_connection(connect, name="shiftlock jobs", settings=server_settings) as connection:
        try:
            row = connection.execute(MIGRATED_TO).fetchone()
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName) as error:
            raise SchemaTooOld(0, SCHEMA_NEEDED) from error
        found = (row and row[0]) or 0
        if found < SCHEMA_NEEDED:
            raise SchemaTooOld(found, SCHEMA_NEEDED)
        yield connection
