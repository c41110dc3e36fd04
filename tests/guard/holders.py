"""Holders for tests of the guard: an open guard and a request, with what matters to a test spelled out."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg

from handlers.guard.answers import Claimed
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest, Ending

TICK = datetime(2026, 11, 29, 2, 0, tzinfo=UTC)
LEASE = timedelta(seconds=30)
SUCCESS = Ending(outcome="succeeded", status="succeeded", result={"invoices": 3})
END_LEASE = "update shiftlock.job_runs set lease_until = clock_timestamp() - interval '1 second'"
HELD_LOCKS = "select count(*) from pg_locks where locktype = 'advisory'"


@contextmanager
def guard_on(url: str, *, lease: timedelta = LEASE) -> Iterator[Guard]:
    """An open guard, closed at the end."""
    with Guard(lambda: url, lease=lease, name="test guard") as guard:
        yield guard


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


def ask(database: psycopg.Connection, query: LiteralString) -> object:
    """The first value of the first row."""
    row = database.execute(query).fetchone()
    assert row is not None
    return row[0]
