"""A standby takes over that has lost the end of its primary's log: the claim is gone, its fence is given out again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

import psycopg
import pytest

from handlers.guard.answers import Claimed
from handlers.guard.errors import Fenced
from handlers.guard.once import Guard
from handlers.guard.request import Ending
from handlers.guard.steps import Steps
from tests.guard.holders import LEASE, ask, claimed, guard_on, request

SUCCESS = Ending(outcome="succeeded", status="succeeded")
WRONG = Ending(outcome="succeeded", status="succeeded", result="wrong", next_key="wrong")
# What the standby never heard of: the session with its lock, the attempt, the claim, and the number drawn for it.
LOST: tuple[LiteralString, ...] = (
    "select pg_terminate_backend(backend_pid, 5000) from shiftlock.job_runs",
    "delete from shiftlock.job_attempts",
    "select setval('shiftlock.fence', fence, false) from shiftlock.job_runs",
    "update shiftlock.job_runs set status = 'pending', attempt = 0, fence = null, holder = null, lease_until = null",
)


@contextmanager
def failed_over(url: str, database: psycopg.Connection) -> Iterator[tuple[Guard, Claimed, Guard, Claimed]]:
    """A holder of before the failover and one of after it, both with their guards and under one fence."""
    with guard_on(url) as before, guard_on(url) as after:
        old = claimed(before, request(holder="before"))
        for statement in LOST:
            database.execute(statement)
        new = claimed(after, request(holder="after"))
        assert (old.run_id, old.fence) == (new.run_id, new.fence)
        yield before, old, after, new


def test_the_old_holder_renews_no_lease(every_server_url: str, every_database: psycopg.Connection) -> None:
    with failed_over(every_server_url, every_database) as (before, old, _, _):
        lease = ask(every_database, "select lease_until from shiftlock.job_runs")
        with pytest.raises(Fenced):
            before.renew(old, {"done": 1})
        assert ask(every_database, "select lease_until from shiftlock.job_runs") == lease
        assert ask(every_database, "select backend_pid from shiftlock.job_runs") is not None


def test_the_old_holder_ends_neither_the_run_nor_the_attempt(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with failed_over(every_server_url, every_database) as (before, old, after, new):
        with pytest.raises(Fenced):
            before.finish(old, WRONG)
        assert ask(every_database, "select outcome from shiftlock.job_attempts") is None
        after.finish(new, SUCCESS)
        with pytest.raises(Fenced):
            before.finish(old, WRONG)
    assert ask(every_database, "select status from shiftlock.job_runs") == "succeeded"
    assert ask(every_database, "select outcome from shiftlock.job_attempts") == "succeeded"


def test_the_old_holder_records_no_step(every_server_url: str, every_database: psycopg.Connection) -> None:
    with failed_over(every_server_url, every_database) as (_, old, _, new), psycopg.connect(every_server_url) as own:
        with pytest.raises(Fenced), Steps(own, old, lease=LEASE).step("invoice:1"):
            own.execute("select 1")
        own.rollback()
        with Steps(own, new, lease=LEASE).step("invoice:1"):
            own.execute("select 1")


def test_the_old_holder_holds_no_run_to_send_from(every_server_url: str, every_database: psycopg.Connection) -> None:
    with failed_over(every_server_url, every_database) as (_, old, _, new), psycopg.connect(every_server_url) as own:
        with pytest.raises(Fenced), Steps(own, old, lease=LEASE).held():
            own.execute("select 1")
        own.rollback()
        with Steps(own, new, lease=LEASE).held() as connection:
            assert connection is own
