"""A holder that is killed or frozen: when the server gives its advisory lock back, and who may end its session."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from handlers.guard.answers import Busy
from handlers.guard.connection import work_session
from handlers.guard.rescue import LostRun, end_ghosts
from handlers.guard.session import open_session
from tests.guard.holders import ask, claimed, guard_on, request

FORK = multiprocessing.get_context("fork")
LONG = timedelta(minutes=10)
SHORT = timedelta(seconds=2)  # several statements fit in, also on a busy machine
SLEEP = "select pg_sleep(600)"
LOCK = "select pg_advisory_lock(%s)"
TRY_LOCK = "select pg_try_advisory_lock(%s)"
MAKE_ROLE = "create role {role} login; grant all on schema shiftlock to {role}; " + "".join(
    f"grant all on all {kind} in schema shiftlock to {{role}}; " for kind in ("tables", "sequences")
)


@dataclass(frozen=True, slots=True)
class Fate:
    """What befalls a holder, and in the middle of what. frees: whether the server notices without our settings."""

    name: str
    signal: signal.Signals
    lease: timedelta
    last: LiteralString | None = None
    frees: bool = False


# With the long lease no timeout of the session can be what frees the lock.
FATES = (
    Fate("killed while idle", signal.SIGKILL, LONG, frees=True),
    Fate("killed within a statement", signal.SIGKILL, LONG, SLEEP),
    Fate("frozen while idle", signal.SIGSTOP, SHORT),
    Fate("frozen within a transaction", signal.SIGSTOP, SHORT, "begin"),
    Fate("frozen within a statement", signal.SIGSTOP, SHORT, SLEEP),
)


def hold(connection: psycopg.Connection, key: int, last: str | None, ready: Connection) -> None:
    """Take the lock, send the last statement without waiting for its end, and stay."""
    connection.execute(LOCK, (key,))
    if last is not None:
        connection.pgconn.send_query(last.encode())
        connection.pgconn.flush()
    ready.send(None)
    while True:
        signal.pause()


def guarded(url: str, fate: Fate, ready: Connection) -> None:
    """Hold lock 1 over the guard's connection."""
    hold(open_session(lambda: url, lease=fate.lease, name="guarded").connection, 1, fate.last, ready)


def plain(url: str, fate: Fate, ready: Connection) -> None:
    """Hold lock 2 over a connection as anybody opens it."""
    hold(psycopg.connect(url, autocommit=True), 2, fate.last, ready)


@contextmanager
def struck(url: str, fate: Fate) -> Iterator[None]:
    """A guarded and a plain holder, each a process, that have just met their fate."""
    holders = []
    try:
        for holder in (plain, guarded):
            reader, writer = FORK.Pipe(duplex=False)
            process = FORK.Process(target=holder, args=(url, fate, writer))
            process.start()
            holders.append(process)
            assert reader.poll(60)
            reader.recv()
        for process in holders:
            assert process.pid is not None
            os.kill(process.pid, fate.signal)
        yield
    finally:
        for process in holders:
            process.kill()
            process.join()


@pytest.mark.parametrize("fate", FATES, ids=lambda fate: fate.name)
def test_the_server_frees_the_lock_of_a_guarded_holder_that_is(
    tcp_url: str, tcp_database: psycopg.Connection, fate: Fate
) -> None:
    tcp_database.execute("set lock_timeout = '60s'")
    with struck(tcp_url, fate):
        tcp_database.execute(LOCK, (1,))
        if fate.frees:
            tcp_database.execute(LOCK, (2,))
        else:
            assert tcp_database.execute(TRY_LOCK, (2,)).fetchone() == (False,)


@pytest.mark.parametrize("earlier", [timedelta(0), timedelta(milliseconds=1)], ids=["the same", "another"])
def test_a_session_is_ended_by_process_id_and_start_together(
    every_server_url: str, every_database: psycopg.Connection, earlier: timedelta
) -> None:
    """A process id that is used again belongs to somebody else, who began later."""
    session = open_session(lambda: every_server_url, lease=LONG, name="a ghost, or not")
    with closing(session.connection) as connection:
        assert session.backend_start is not None
        end_ghosts(every_database, LostRun("nightly", 1, 1, session.backend_pid, session.backend_start - earlier))
        if earlier:
            assert connection.execute("select 1").fetchone() == (1,)
        else:
            with pytest.raises(psycopg.errors.AdminShutdown):
                connection.execute("select 1")


def test_a_guard_does_not_end_its_own_session(every_server_url: str) -> None:
    session = open_session(lambda: every_server_url, lease=LONG, name="itself")
    with closing(session.connection) as connection:
        end_ghosts(connection, LostRun("nightly", 1, 1, session.backend_pid, session.backend_start))
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.fixture
def other_role_url(every_server_url: str, every_database: psycopg.Connection) -> Iterator[str]:
    """The database as a role that may use the ledger and end nobody's session."""
    role = str(ask(every_database, "select current_database() || '_role'"))
    with closing(psycopg.connect(every_server_url, autocommit=True)) as owner:
        owner.execute(sql.SQL(MAKE_ROLE).format(role=sql.Identifier(role)))
        yield make_conninfo(every_server_url, user=role)
        owner.execute(sql.SQL("drop owned by {role}; drop role {role}").format(role=sql.Identifier(role)))


def test_a_role_without_the_right_leaves_the_sessions_alone_and_that_is_no_error(
    every_server_url: str, other_role_url: str
) -> None:
    with (
        psycopg.connect(every_server_url, application_name=work_session("nightly", 7, 9)) as work,
        psycopg.connect(other_role_url, autocommit=True) as other,
    ):
        end_ghosts(other, LostRun("nightly", 7, 9, work.info.backend_pid, None))
        assert work.execute("select 1").fetchone() == (1,)


def test_a_role_without_the_right_takes_over_once_the_server_has_dropped_the_ghost(
    every_server_url: str, every_database: psycopg.Connection, other_role_url: str
) -> None:
    with guard_on(every_server_url, lease=SHORT) as ghost, guard_on(other_role_url) as successor:
        lost = claimed(ghost, request(lease=SHORT))
        every_database.execute("set lock_timeout = '60s'")
        every_database.execute(LOCK, (lost.lock_key,))  # waits for the server, with the ghost silent
        every_database.execute("select pg_advisory_unlock(%s)", (lost.lock_key,))
        answer = claimed(successor, request(holder="holder-2"))
    assert (answer.attempt, answer.infra_failures) == (2, 1)


def test_a_holder_of_another_role_counts_as_alive(every_server_url: str, other_role_url: str) -> None:
    """When its session began is hidden; waiting for the end of a lease that is being renewed would be in vain."""
    with guard_on(every_server_url) as holder, guard_on(other_role_url) as other:
        claimed(holder, request())
        answer = other.claim(request(holder="holder-2"))
        assert isinstance(answer, Busy)
        assert answer.alive
