"""A connection for looking at the ledger, which can change nothing and waits for nothing for long."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from handlers.guard.errors import SchemaTooOld
from handlers.guard.connection import open_connection
from handlers.guard.session import SCHEMA_NEEDED
from handlers.runtime.database import connection_strings
from handlers.runtime.settings import Settings

MIGRATED_TO = "select max(number) from shiftlock.migrations"
LOOK_ONLY = {"default_transaction_read_only": "on", "statement_timeout": "30s", "lock_timeout": "5s"}


@contextmanager
def reading(settings: Settings) -> Iterator[psycopg.Connection]:
    """Yield the connection and close it at the end. Raises DatabaseUnavailable, SchemaTooOld, NoCredentials."""
    connect = connection_strings(settings.database)
    with open_connection(connect, name="shiftlock jobs", settings=LOOK_ONLY) as connection:
        try:
            row = connection.execute(MIGRATED_TO).fetchone()
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName) as error:
            raise SchemaTooOld(0, SCHEMA_NEEDED) from error
        found = (row and row[0]) or 0
        if found < SCHEMA_NEEDED:
            raise SchemaTooOld(found, SCHEMA_NEEDED)
        yield connection
