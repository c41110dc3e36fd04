"""The guard's own connection: one database session that carries the advisory lock and the heartbeat."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg

from handlers.guard.connection import Connect, open_connection, place_of
from handlers.guard.errors import DatabaseUnavailable, SchemaTooOld, one_line

# The newest migration whose tables or columns a start relies on, those of the schedulers included.
SCHEMA_NEEDED = 4

INTRODUCE = """
select pid, backend_start, (extract(epoch from current_setting('idle_session_timeout')::interval) * 1000)::bigint,
       (select max(number) from shiftlock.migrations)
from pg_stat_get_activity(pg_backend_pid())
"""

# Seconds that an answer may take longer than the lease: so the server's own words on a slow statement come first.
ANSWERS_LATE = 1.0


@dataclass(frozen=True, slots=True)
class Session:
    """An open session and what names it on the server: its process id may be used again, id and start may not.

    row_only: a transaction pooler stands in between. The session is then the pool's, so no lock is taken in it and
    pid and start are None: the row with its lease and fence protects the run alone.
    """

    connection: psycopg.Connection
    place: str
    backend_pid: int | None
    backend_start: datetime | None
    row_only: bool = False


def open_session(connect: Connect, *, lease: timedelta, name: str) -> Session:
    """Open the guard's connection. Raises DatabaseUnavailable and SchemaTooOld.

    The server itself drops the session, and with it the lock, of a holder that has been silent for a whole lease: a
    keepalive cannot see a frozen process, since its kernel goes on answering.
    """
    milliseconds = lease // timedelta(milliseconds=1)
    connection = open_connection(
        connect,
        name=name,
        settings={
            "idle_session_timeout": f"{milliseconds}ms",
            # Within a transaction, too: a process that freezes while it registers a job would lock out all others.
            "idle_in_transaction_session_timeout": f"{milliseconds}ms",
            # A renewal that takes longer comes too late, and whoever waits for it must not wait for ever.
            "statement_timeout": f"{milliseconds}ms",
            # Noticed also in the middle of a statement (PostgreSQL manual, "client_connection_check_interval").
            "client_connection_check_interval": "1s",
        },
    ).within(lease.total_seconds() + ANSWERS_LATE)
    dsn = connection.info.dsn  # a closed connection does not know it any more
    try:
        row = connection.execute(INTRODUCE).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName) as error:
        connection.close()
        raise SchemaTooOld(0, SCHEMA_NEEDED) from error
    except psycopg.OperationalError as error:
        connection.close()
        raise DatabaseUnavailable(place_of(dsn), one_line(error)) from error
    if row is None or (row[3] or 0) < SCHEMA_NEEDED:
        connection.close()
        raise SchemaTooOld((row and row[3]) or 0, SCHEMA_NEEDED)
    pid, start, idle_timeout, _ = row
    place = f"{connection.info.dbname} at {connection.info.host}:{connection.info.port}"
    # A pooler gives its clients process ids of its own making, and forgets the settings they came with.
    if pid != connection.info.backend_pid or idle_timeout != milliseconds:
        connection.prepare_threshold = None
        return Session(connection, place, None, None, row_only=True)
    return Session(connection, place, pid, start)
