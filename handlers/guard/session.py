"""The guard's own connection: one database session that carries the advisory lock and the heartbeat."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from handlers.guard.errors import DatabaseUnavailable, SchemaTooOld, one_line

# The newest migration whose tables or columns the guard's statements use.
SCHEMA_NEEDED = 1

INTRODUCE = """
select backend_start, (select max(number) from shiftlock.migrations)
from pg_stat_get_activity(pg_backend_pid())
"""

# A peer that vanished is noticed in about ten seconds: libpq's keepalives for an idle link, tcp_user_timeout for one
# with unacknowledged data (PostgreSQL manual, "Connection Strings").
LINK = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 8000}


class Connect(Protocol):
    """Where connections come from; asked anew for each, since IAM tokens last 15 minutes."""

    def __call__(self) -> str:
        """A libpq connection string."""


@dataclass(frozen=True, slots=True)
class Session:
    """An open session and what names it on the server: its process id may be used again, id and start may not."""

    connection: psycopg.Connection
    place: str
    backend_pid: int
    backend_start: datetime


def open_session(connect: Connect, *, lease: timedelta, name: str) -> Session:
    """Open the guard's connection. Raises DatabaseUnavailable and SchemaTooOld.

    The server itself drops the session, and with it the lock, of a holder that has been silent for a whole lease: a
    keepalive cannot see a frozen process, since its kernel goes on answering.
    """
    connection = open_connection(
        connect,
        name=name,
        settings={
            "idle_session_timeout": f"{lease // timedelta(milliseconds=1)}ms",
            # A renewal that takes longer comes too late, and whoever waits for it must not wait for ever.
            "statement_timeout": f"{lease // timedelta(milliseconds=1)}ms",
            # Noticed also in the middle of a statement (PostgreSQL manual, "client_connection_check_interval").
            "client_connection_check_interval": "1s",
        },
    )
    try:
        row = connection.execute(INTRODUCE).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName) as error:
        connection.close()
        raise SchemaTooOld(0, SCHEMA_NEEDED) from error
    except psycopg.OperationalError as error:
        connection.close()
        raise DatabaseUnavailable(place_of(connection.info.dsn), one_line(error)) from error
    if row is None or (row[1] or 0) < SCHEMA_NEEDED:
        connection.close()
        raise SchemaTooOld((row and row[1]) or 0, SCHEMA_NEEDED)
    info = connection.info
    return Session(connection, f"{info.dbname} at {info.host}:{info.port}", info.backend_pid, row[0])


def open_connection(connect: Connect, *, name: str, settings: dict[str, str]) -> psycopg.Connection:
    """An autocommit connection with these server settings. Raises DatabaseUnavailable."""
    conninfo = connect()
    given = conninfo_to_dict(conninfo)
    defaults = {key: value for key, value in (LINK | {"connect_timeout": 10}).items() if key not in given}
    options = " ".join([str(given.get("options") or ""), *(f"-c {key}={value}" for key, value in settings.items())])
    try:
        return psycopg.connect(
            make_conninfo(conninfo, **defaults, application_name=name, options=options.strip()), autocommit=True
        )
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(place_of(conninfo), one_line(error)) from error


def place_of(conninfo: str) -> str:
    """Database, host and port of a connection string, without user or password."""
    facts = conninfo_to_dict(conninfo)
    host = facts.get("host") or facts.get("hostaddr") or "the default socket"
    return f"{facts.get('dbname', '')} at {host}:{facts.get('port', 5432)}"
