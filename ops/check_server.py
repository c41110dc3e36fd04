"""What `jobs doctor` asks of the database server and of the way to it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg

from handlers.guard.connection import place_of
from handlers.guard.errors import DatabaseUnavailable
from handlers.guard.once import Guard
from handlers.runtime.database import connection_strings
from handlers.runtime.settings import Settings
from ops.configured import remedy
from ops.finding import Finding
from ops.wording import one_line, span

SUPPORTED = range(15, 19)  # major versions of PostgreSQL
LOOKS_AT_THE_CLOCK = 3
MOST_SKEW = timedelta(seconds=2)
CROWDED = 0.9  # of all connections
UNENCRYPTED_AT_HOME = ("/", "@", "localhost", "127.", "::1")

CLOCK = "select clock_timestamp()"

# Counted by database: a role without rights sees not even the kind of other roles' sessions.
CONNECTIONS = """
select (select sum(numbackends) from pg_stat_database)::integer,
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
       - coalesce(current_setting('reserved_connections', true)::integer, 0)
"""


def check_server(connection: psycopg.Connection, took: timedelta) -> Iterator[Finding]:
    """Yield what an open connection shows; `took` is how long it took to open. Raises psycopg.Error."""
    info = connection.info
    yield database(place_of(info.dsn), info.server_version // 10000, took)
    mode = info.get_parameters().get("sslmode", "prefer")
    yield encryption(info.host, encrypted=connection.pgconn.ssl_in_use, mode=mode)
    yield clocks(connection)
    yield connections(connection)


def database(place: str, major: int, took: timedelta) -> Finding:
    """Where the server is, how long it takes to connect, and whether its version is one of those we test with."""
    found = f"{place}, PostgreSQL {major}, connected in {span(took)}"
    supported = f"{SUPPORTED[0]} to {SUPPORTED[-1]}"
    return Finding("database", found, None if major in SUPPORTED else f"use PostgreSQL {supported}")


def encryption(host: str, *, encrypted: bool, mode: str) -> Finding:
    """Whether what goes over the network is encrypted. mode: libpq's sslmode."""
    if encrypted and mode == "verify-full":
        return Finding("encryption", "TLS, and the server has proved its name")
    if encrypted:
        return Finding("encryption", f"TLS, but anybody could be the server (sslmode={mode}): verify-full checks it")
    if host.startswith(UNENCRYPTED_AT_HOME):
        return Finding("encryption", "none, and nothing leaves this machine")
    return Finding("encryption", "none: everybody on the way can read along", "connect with sslmode=verify-full")


def clocks(connection: psycopg.Connection) -> Finding:
    """How far this machine's clock is from the database's, by the quickest of a few round trips."""
    return skew(*min((_look(connection) for _ in range(LOOKS_AT_THE_CLOCK)), key=lambda look: look[1]))


def skew(ahead: timedelta, doubt: timedelta) -> Finding:
    """What is said of a database clock that is `ahead` of ours, within `doubt` to either side."""
    if abs(ahead) <= doubt:
        return Finding("clocks", f"the same here and there, within {span(max(doubt, timedelta(milliseconds=1)))}")
    found = f"the database is {span(abs(ahead))} {'ahead' if ahead > timedelta() else 'behind'}"
    if abs(ahead) - doubt <= MOST_SKEW:
        return Finding("clocks", found)
    return Finding(
        "clocks", found, "set this machine's clock: `jobs run` takes the latest tick by it, and IAM refuses old tokens"
    )


def _look(connection: psycopg.Connection) -> tuple[timedelta, timedelta]:
    before = datetime.now(UTC)
    [(there,)] = connection.execute(CLOCK)
    doubt = (datetime.now(UTC) - before) / 2
    return there - (before + doubt), doubt


def connections(connection: psycopg.Connection) -> Finding:
    """How many of the server's connections are taken."""
    [(taken, most)] = connection.execute(CONNECTIONS)
    crowded = taken >= CROWDED * most
    return Finding(
        "connections",
        f"{taken} of {most} are taken; a run takes two",
        "raise max_connections, or let fewer jobs start in the same minute" if crowded else None,
    )


def sessions(settings: Settings) -> Finding:
    """Whether a guard has a session of its own, which can keep a lock and which the server ends when it is silent.

    Raises SchemaTooOld.
    """
    try:
        with Guard(connection_strings(settings.database), lease=settings.lease, name="shiftlock doctor") as guard:
            pooled = guard.row_only
    except DatabaseUnavailable as error:
        return Finding("sessions", one_line(str(error)), remedy())
    if pooled:
        return Finding(
            "sessions",
            "a transaction pooler stands in between: runs are guarded by their rows alone, and a dead holder is "
            "noticed at the end of its lease; a direct connection notices it at once",
        )
    return Finding(
        "sessions", f"direct: the server keeps a guard's lock, and drops it after {span(settings.lease)} of silence"
    )
