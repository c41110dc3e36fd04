"""A holder whose machine vanishes without a word: the server notices, however busy the connection was."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from handlers.guard.session import open_session
from tests.guard.vanishing import vanish

# No timeout of the session ends before the test does, nor does the statement.
LEASE = timedelta(minutes=10)
GATE = 1000
LOCK = "select pg_advisory_lock(%s)"
TRY_LOCK = "select pg_try_advisory_lock(%s)"
ANY_LINK = "-c tcp_keepalives_idle=0 -c tcp_user_timeout=0"  # 0 is what the operating system does by itself

# What the server is at when its client vanishes. The third answers after that; the last one's client has stopped
# reading while its kernel still acknowledges, as that of a frozen process does.
LAST_STATEMENTS = {
    "idle": None,
    "busy": b"select pg_sleep(600)",
    "with its answer on the way": b"select pg_advisory_lock_shared(1000)",
    "within a long answer that nobody reads": b"select repeat('x', 1000000) from generate_series(1, 100)",
}
STILL_THERE = "within a long answer that nobody reads"


@contextmanager
def holder(url: str, key: int, kind: str) -> Iterator[None]:
    """A holder of the lock that vanishes as soon as it has it."""
    with closing(open_session(lambda: url, lease=LEASE, name=kind).connection) as connection:
        connection.execute(LOCK, (key,))
        statement = LAST_STATEMENTS[kind]
        if statement is not None:
            connection.pgconn.send_query(statement)
            connection.pgconn.flush()
        if kind != STILL_THERE:
            vanish(connection.fileno())
        yield


def test_the_server_frees_the_locks_of_vanished_holders_and_only_by_the_settings_of_its_own_end(
    tcp_url: str, tcp_database: psycopg.Connection
) -> None:
    """All at the same time, since each takes some ten seconds. Without the settings it is 15 minutes, or 2 hours."""
    tcp_database.execute("set lock_timeout = '60s'")
    tcp_database.execute(LOCK, (GATE,))
    with ExitStack() as holders:
        for key, kind in enumerate(LAST_STATEMENTS):
            holders.enter_context(holder(make_conninfo(tcp_url, options=ANY_LINK), -key - 1, kind))
        for key, kind in enumerate(LAST_STATEMENTS):
            holders.enter_context(holder(tcp_url, key + 1, kind))
        tcp_database.execute("select pg_advisory_unlock(%s)", (GATE,))
        for key in range(len(LAST_STATEMENTS)):
            tcp_database.execute(LOCK, (key + 1,))
        for key in range(len(LAST_STATEMENTS)):
            assert tcp_database.execute(TRY_LOCK, (-key - 1,)).fetchone() == (False,)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("tcp_keepalives_idle", "5"),
        ("tcp_keepalives_interval", "2"),
        ("tcp_keepalives_count", "3"),
        ("tcp_user_timeout", "8000"),
    ],
)
def test_the_server_watches_its_end_of_the_link(tcp_url: str, setting: str, value: str) -> None:
    with closing(open_session(lambda: tcp_url, lease=LEASE, name="a guard").connection) as connection:
        assert connection.execute("select current_setting(%s)", (setting,)).fetchone() == (value,)


def test_what_the_connection_string_says_of_the_link_wins(tcp_url: str) -> None:
    url = make_conninfo(tcp_url, options="-c tcp_keepalives_idle=77", keepalives_idle=78)
    with closing(open_session(lambda: url, lease=LEASE, name="a guard").connection) as connection:
        assert connection.execute("show tcp_keepalives_idle").fetchone() == ("77",)
        assert connection.info.get_parameters()["keepalives_idle"] == "78"
