"""Connections that notice when their other end is gone."""

from typing import Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from handlers.guard.errors import DatabaseUnavailable, one_line

# A peer that vanished is noticed in about ten seconds: libpq's keepalives for an idle link, tcp_user_timeout for one
# with unacknowledged data (PostgreSQL manual, "Connection Strings").
LINK = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 8000}

# What PgBouncer says to settings that come with the connection: it could not keep them for one client.
REFUSES_SETTINGS = "unsupported startup parameter"


class Connect(Protocol):
    """Where connections come from; asked anew for each, since IAM tokens last 15 minutes."""

    def __call__(self) -> str:
        """A libpq connection string."""


def open_connection(
    connect: Connect, *, name: str, settings: dict[str, str], pooled: bool = False
) -> psycopg.Connection:
    """An autocommit connection with these server settings. Raises DatabaseUnavailable.

    pooled: there is a transaction pooler in between, so that no setting and no prepared statement lasts. Found out
    here where the pooler refuses the settings.
    """
    conninfo = connect()
    given = conninfo_to_dict(conninfo)
    defaults = {key: value for key, value in (LINK | {"connect_timeout": 10}).items() if key not in given}
    options = " ".join([str(given.get("options") or ""), *(f"-c {key}={value}" for key, value in settings.items())])
    wanted = make_conninfo(conninfo, **defaults, application_name=name[:63], options="" if pooled else options.strip())
    try:
        connection = psycopg.connect(wanted, autocommit=True)
    except psycopg.OperationalError as error:
        if not pooled and REFUSES_SETTINGS in str(error):
            return open_connection(lambda: conninfo, name=name, settings=settings, pooled=True)
        raise DatabaseUnavailable(place_of(conninfo), one_line(error)) from error
    if pooled:
        connection.prepare_threshold = None
    return connection


def place_of(conninfo: str) -> str:
    """Database, host and port of a connection string, without user or password."""
    facts = conninfo_to_dict(conninfo)
    host = facts.get("host") or facts.get("hostaddr") or "the default socket"
    return f"{facts.get('dbname', '')} at {host}:{facts.get('port', 5432)}"


def work_session(job: str, run_id: int, fence: int) -> str:
    """What the server calls a job's own session, so that a successor can find and end it."""
    return f"shiftlock {job} run {run_id} fence {fence}"[:63]
