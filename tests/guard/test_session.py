"""The guard's connection: what it asks of the server, and how it says that it cannot be had."""

import select
import socket
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest
from psycopg import conninfo, pq

from handlers.guard.connection import open_connection, place_of
from handlers.guard.errors import DatabaseUnavailable, SchemaTooOld
from handlers.guard.migrate import shipped
from handlers.guard.session import SCHEMA_NEEDED, Session, open_session
from tests.faults.proxy import Proxy

LEASE = timedelta(seconds=30)
SESSION_OF = """
select application_name, backend_start from pg_stat_activity where pid = %s
"""


def session_on(url: str, *, lease: timedelta = LEASE, name: str = "shiftlock nightly guard") -> Session:
    return open_session(lambda: url, lease=lease, name=name)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("idle_session_timeout", "30s"),
        ("idle_in_transaction_session_timeout", "30s"),
        ("client_connection_check_interval", "1s"),
        ("application_name", "shiftlock nightly guard"),
    ],
)
def test_the_server_is_told_to_drop_a_session_that_falls_silent(
    every_server_url: str, setting: str, value: str
) -> None:
    with closing(session_on(every_server_url).connection) as connection:
        assert connection.execute("select current_setting(%s)", (setting,)).fetchone() == (value,)


def test_settings_of_the_url_stay_beside_the_guards_own(every_server_url: str) -> None:
    url = conninfo.make_conninfo(every_server_url, options="-c work_mem=3MB")
    with closing(session_on(url).connection) as connection:
        assert connection.execute("show work_mem").fetchone() == ("3MB",)
        assert connection.execute("show idle_session_timeout").fetchone() == ("30s",)


def test_a_session_knows_its_process_on_the_server_and_when_that_began(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    session = session_on(every_server_url)
    with closing(session.connection):
        seen = every_database.execute(SESSION_OF, (session.backend_pid,)).fetchone()
        assert seen == ("shiftlock nightly guard", session.backend_start)


def test_a_session_that_is_silent_for_a_lease_is_dropped_by_the_server_with_its_lock(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    session = session_on(every_server_url, lease=timedelta(seconds=1))
    with closing(session.connection) as silent:
        silent.execute("select pg_advisory_lock(1)")
        every_database.execute("set statement_timeout = '60s'")
        every_database.execute("select pg_advisory_lock(1)")  # waits for the server to free it
        assert select.select([silent.fileno()], [], [], 60)[0]
        with pytest.raises(psycopg.OperationalError, match="idle-session timeout"):
            silent.execute("select 1")


def test_this_code_needs_the_newest_migration_that_is_shipped_with_it() -> None:
    assert max(shipped()) == SCHEMA_NEEDED


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        pytest.param("drop schema shiftlock cascade", 0, id="no schema"),
        pytest.param("drop table shiftlock.migrations", 0, id="no history"),
        pytest.param("delete from shiftlock.migrations", 0, id="empty history"),
        pytest.param("update shiftlock.migrations set number = number - 1", SCHEMA_NEEDED - 1, id="an older one"),
    ],
)
def test_a_schema_older_than_needed_is_refused_with_what_to_do(
    database_url: str, database: psycopg.Connection, statement: str, found: int
) -> None:
    database.execute(statement.encode())
    with pytest.raises(SchemaTooOld) as caught:
        session_on(database_url)
    assert str(caught.value) == (
        f"the ledger is at migration {found}, this code needs {SCHEMA_NEEDED}: run `jobs migrate` first"
    )


def test_a_newer_schema_is_accepted(database_url: str, database: psycopg.Connection) -> None:
    database.execute("insert into shiftlock.migrations (number, name) values (9999, 'of a newer release')")
    session_on(database_url).connection.close()


def test_an_unreachable_host_is_named_with_the_reason_and_never_the_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        port = taken.getsockname()[1]
        with pytest.raises(DatabaseUnavailable) as caught:
            session_on(f"postgresql://job:hush-hush@127.0.0.1:{port}/shiftlock")
    message = str(caught.value)
    assert message.startswith(f"database shiftlock at 127.0.0.1:{port} unavailable: ")
    assert "refused" in message
    assert "hush" not in message
    assert "\n" not in message


def test_an_unknown_host_is_named_with_the_reason() -> None:
    with pytest.raises(DatabaseUnavailable, match=r"^database shiftlock at db.invalid:5432 unavailable: .*db"):
        session_on("postgresql://job:hush@db.invalid/shiftlock")


def test_a_server_that_does_not_answer_is_given_up_after_the_connect_timeout() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # the kernel accepts, nobody ever answers
        port = silent.getsockname()[1]
        with pytest.raises(DatabaseUnavailable, match=f"127.0.0.1:{port} unavailable: .*timeout"):
            session_on(f"postgresql://job:hush@127.0.0.1:{port}/shiftlock?connect_timeout=2")


def test_a_server_that_is_reached_and_does_not_answer_any_more_is_given_up_after_the_lease(database_url: str) -> None:
    """As behind a stuck proxy: the kernels at both ends are content, so no keepalive helps."""
    with Proxy(database_url) as proxy:
        session = session_on(proxy.through(database_url), lease=timedelta(seconds=0.2))
        proxy.cut("deaf")
        with pytest.raises(psycopg.OperationalError, match=r"no answer within 1\.2 s"):
            session.connection.execute("select 1")
        assert session.connection.closed


def test_a_server_that_takes_the_connection_and_answers_no_question_is_reported_like_one_out_of_reach(
    database_url: str,
) -> None:
    locked = "lock table shiftlock.migrations in access exclusive mode"
    with psycopg.connect(database_url) as holder:
        holder.execute(locked.encode())
        with pytest.raises(DatabaseUnavailable, match=r"^database shiftlock_test_\S+ at .* unavailable: .*timeout"):
            session_on(database_url, lease=timedelta(seconds=0.2))


def test_a_database_that_does_not_exist_is_reported_like_one_out_of_reach(database_url: str) -> None:
    url = conninfo.make_conninfo(database_url, dbname="nosuch")
    with pytest.raises(DatabaseUnavailable, match=r'^database nosuch at .* unavailable: .*"nosuch" does not exist'):
        session_on(url)


def test_a_jobs_connection_commits_each_statement_and_has_no_idle_limit(database_url: str) -> None:
    settings = {"client_connection_check_interval": "1s"}
    with closing(open_connection(lambda: database_url, name="a job", settings=settings)) as connection:
        assert connection.autocommit
        assert connection.execute("show idle_session_timeout").fetchone() == ("0",)
        assert connection.info.transaction_status == pq.TransactionStatus.IDLE


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("postgresql://u:hush@db.example.com:6543/shiftlock", "shiftlock at db.example.com:6543"),
        ("host=10.0.0.1 hostaddr=10.0.0.2 dbname=a password=hush", "a at 10.0.0.1:5432"),
        ("hostaddr=10.0.0.2 dbname=a", "a at 10.0.0.2:5432"),
        ("dbname=a", "a at the default socket:5432"),
    ],
)
def test_a_place_is_database_host_and_port_alone(given: str, place: str) -> None:
    assert place_of(given) == place
