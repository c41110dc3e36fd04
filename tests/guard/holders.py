"""Holders for tests of the guard: an open guard and a request, with what matters to a test spelled out."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg

from handlers.guard.answers import Claimed
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest, Ending
from tests.guard.outage import elsewhere

TICK = datetime(2026, 11, 29, 2, 0, tzinfo=UTC)
LEASE = timedelta(seconds=30)
SUCCESS = Ending(outcome="succeeded", status="succeeded", result={"invoices": 3})
END_LEASE = "update shiftlock.job_runs set lease_until = clock_timestamp() - interval '1 second'"
HELD_LOCKS = "select count(*) from pg_locks where locktype = 'advisory'"
SESSION_HAS_ENDED = "select not exists (select from pg_stat_activity where pid = %s)"
PAUSE = "select pg_sleep(0.002)"
PATIENCE = 60.0  # seconds that a busy server may take to see what has happened to a client


@contextmanager
def guard_on(url: str, *, lease: timedelta = LEASE) -> Iterator[Guard]:
    """An open guard, closed at the end; by then the server has ended its session, too."""
    with Guard(lambda: url, lease=lease, name="test guard") as guard:
        yield guard
    backend_pid = backend_of(guard)
    if backend_pid is not None:
        with elsewhere(url) as (server, _):  # the database itself may take nobody at the moment
            wait_until_ended(server, backend_pid)


def backend_of(guard: Guard) -> int | None:
    """The server's process for the guard's session, also after its end; None before the first and for a pool's."""
    return None if guard._session is None else guard._session.backend_pid


def wait_until_ended(database: psycopg.Connection, backend_pid: int | None) -> None:
    """Wait until the server has ended a session that its client has closed.

    The close returns before that: until then its lock is held, and it is shown as alive.
    """
    wait_until(database, SESSION_HAS_ENDED, backend_pid)


def wait_until(database: psycopg.Connection, condition: LiteralString, *facts: object) -> None:
    """Ask the server until it says yes: for what it does in its own time after a client has gone."""
    end = time.monotonic() + PATIENCE
    while not ask(database, condition, *facts):
        assert time.monotonic() < end, f"not within {PATIENCE:.0f} s: {condition} {facts}"
        database.execute(PAUSE)


def request(run_key: str = "2026-11-29T02:00Z", **changes: Any) -> ClaimRequest:
    """A claim of the 02:00 tick of a job called nightly."""
    facts: dict[str, Any] = {
        "job": "nightly",
        "run_key": run_key,
        "tick": TICK,
        "trigger": "rule",
        "holder": "holder-1",
        "compute": "test",
        "lease": LEASE,
    }
    return ClaimRequest(**(facts | changes))


def claimed(guard: Guard, wanted: ClaimRequest) -> Claimed:
    """The claim, which must succeed."""
    answer = guard.claim(wanted)
    assert isinstance(answer, Claimed), answer
    return answer


def ask(database: psycopg.Connection, query: LiteralString, *facts: object) -> object:
    """The first value of the first row."""
    row = database.execute(query, facts or None).fetchone()
    assert row is not None
    return row[0]
