"""Connections that notice when their other end is gone."""

from typing import Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from handlers.guard.bounded import BoundedConnection
from handlers.guard.errors import DatabaseUnavailable, one_line

# A peer that vanished is noticed in about ten seconds: by keepalives over an idle link, by tcp_user_timeout over one
# with unacknowledged data (PostgreSQL manual, "Connection Strings"). The same at the server's end, since it is the
# server that holds the locks of a client that has gone ("Connections and Authentication").
LINK = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 8000}
SERVERS_LINK = {
    "tcp_keepalives_idle": "5s",
    "tcp_keepalives_interval": "2s",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "8s",
}

# A standby takes connections and refuses to write; a name that has not followed a failover yet leads to one.
DEFAULTS: dict[str, str | int] = {**LINK, "connect_timeout": 10, "target_session_attrs": "primary"}

# What PgBouncer and RDS Proxy say to settings that come with the connection: they could not keep them for one client.
REFUSALS_OF_SETTINGS = ("unsupported startup parameter", "support command-line options")


class Connect(Protocol):
    """Where connections come from; asked anew for each, since IAM tokens last 15 minutes."""

    def __call__(self) -> str:
        """A libpq connection string."""


def open_connection(
    connect: Connect, *, name: str, settings: dict[str, str], pooled: bool = False
) -> BoundedConnection:
    """An autocommit connection with these server settings. Raises DatabaseUnavailable.

    settings: they win over those of the connection string, which win over ours about the link. None are sent where
    none are asked for: such a connection passes a pooler at its first try.
    pooled: there is a transaction pooler in between, so that no setting and no prepared statement lasts. Found out
    here where the pooler refuses the settings.
    """
    conninfo = connect()
    given = conninfo_to_dict(conninfo)
    defaults = {key: value for key, value in DEFAULTS.items() if key not in given}
    # Of two values for one setting the server takes the later.
    options = [_options(SERVERS_LINK if settings else {}), str(given.get("options") or ""), _options(settings)]
    wanted = make_conninfo(
        conninfo, **defaults, application_name=name[:63], options="" if pooled else " ".join(options).strip()
    )
    try:
        connection = BoundedConnection.connect(wanted, autocommit=True)
    except psycopg.OperationalError as error:
        if not pooled and refuses_settings(str(error)):
            return open_connection(lambda: conninfo, name=name, settings=settings, pooled=True)
        raise DatabaseUnavailable(place_of(conninfo), one_line(error)) from error
    if pooled:
        connection.prepare_threshold = None
    return connection


def refuses_settings(reason: str) -> bool:
    """Whether this is why a pooler turned a connection away: for the settings that came with it."""
    return any(refusal in reason for refusal in REFUSALS_OF_SETTINGS)


def place_of(conninfo: str) -> str:
    """Database, host and port of a connection string, without user or password."""
    facts = conninfo_to_dict(conninfo)
    host = facts.get("host") or facts.get("hostaddr") or "the default socket"
    return f"{facts.get('dbname', '')} at {host}:{facts.get('port', 5432)}"


def work_session(job: str, run_id: int, fence: int) -> str:
    """What the server calls a job's own session, so that a successor can find and end it."""
    return f"shiftlock {job} run {run_id} fence {fence}"[:63]


def _options(settings: dict[str, str]) -> str:
    return " ".join(f"-c {key}={value}" for key, value in settings.items())
