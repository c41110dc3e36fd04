"""The layer's connection: opened on first use, kept between invocations, replaced when it has broken."""

import os
import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import LiteralString

import psycopg
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyPersistenceConnectionError,
    IdempotencyPersistenceLayerError,
)
from psycopg import errors

from handlers.guard.connection import Connect, open_connection, place_of
from handlers.guard.errors import DatabaseUnavailable, one_line

# A connection that slept longer in a frozen sandbox may have been forgotten on the way, without a word to either end
# (a NAT gateway does so after 350 s: VPC user guide, "Troubleshoot NAT gateways"). Finding out takes 10 s, a new
# connection some milliseconds.
KEPT_FOR = timedelta(minutes=5)

BACKEND = "select pg_backend_pid()"


class Link:
    """One connection for all threads of a process; no statement needs what another left in the session.

    pooled: there is a transaction pooler in between, which keeps no prepared statement for us. It need only be said
    of a pooler that hides itself: one that gives its clients process ids of its own making is noticed.
    """

    def __init__(self, connect: Connect, *, name: str, pooled: bool, kept_for: timedelta = KEPT_FOR) -> None:
        self._connect = connect
        self._name = name
        self._pooled = pooled
        self._kept_for = kept_for.total_seconds()
        self._connection: psycopg.Connection | None = None
        self._process = os.getpid()
        self._used = 0.0
        self._one_at_a_time = threading.Lock()

    def execute(self, statement: LiteralString, facts: Mapping[str, object]) -> psycopg.Cursor:
        """Run a statement that may be run twice: once more over a new connection if the first one broke under it.

        Raises IdempotencyPersistenceConnectionError when the database is out of reach and
        IdempotencyPersistenceLayerError when it refuses the statement.
        """
        with self._one_at_a_time:
            try:
                return self._execute(statement, facts)
            except DatabaseUnavailable as error:
                raise IdempotencyPersistenceConnectionError(str(error)) from error

    def _execute(self, statement: LiteralString, facts: Mapping[str, object]) -> psycopg.Cursor:
        while True:
            connection, is_new = self._usable()
            place = place_of(connection.info.dsn)
            try:
                if is_new and connection.execute(BACKEND).fetchone() != (connection.info.backend_pid,):
                    connection.prepare_threshold = None
                cursor = connection.execute(statement, facts)
            except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
                raise IdempotencyPersistenceLayerError(
                    f"database {place} has no table of idempotency records: run `jobs migrate` first"
                ) from error
            except psycopg.OperationalError as error:
                if is_new or not connection.closed:
                    raise DatabaseUnavailable(place, one_line(error)) from error
            except psycopg.Error as error:
                raise IdempotencyPersistenceLayerError(f"database {place} refused: {one_line(error)}") from error
            else:
                self._used = time.monotonic()
                return cursor

    def _usable(self) -> tuple[psycopg.Connection, bool]:
        """The connection and whether it is new."""
        if self._process != os.getpid():
            # A fork has copied the parent's connection: it is left alone, closing it would end the parent's session.
            self._process, self._connection = os.getpid(), None
        if self._connection is not None and time.monotonic() - self._used > self._kept_for:
            self._connection.close()
        if self._connection is not None and not self._connection.closed:
            return self._connection, False
        self._connection = open_connection(self._connect, name=self._name, settings={}, pooled=self._pooled)
        return self._connection, True
