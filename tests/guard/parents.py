"""Runs that have sent out others, for tests of what becomes of them."""

from collections.abc import Callable

import psycopg

from handlers.guard.outbox import NewRun, enqueue
from handlers.guard.request import Ending
from tests.guard.holders import claimed, guard_on, request

SET_STATUS = """
update shiftlock.job_runs set status = %(status)s, finished_at = clock_timestamp() where run_key = any(%(keys)s)
"""

Waits = Callable[..., int]


def waiting_parent(url: str, database: psycopg.Connection, children: int, may_fail: float = 0.0) -> int:
    """A parent that waits for so many children, c0 and on, and lets a share of them fail; its id."""
    with guard_on(url) as guard:
        parent = claimed(guard, request())
        for number in range(children):
            send(database, parent.run_id, f"c{number}")
        guard.finish(parent, Ending(outcome="succeeded", status="running", result={"days": 1}, may_fail=may_fail))
        return parent.run_id


def end(database: psycopg.Connection, status: str, *keys: str) -> None:
    """Let these children end; what they went through does not matter here."""
    database.execute("alter table shiftlock.job_runs disable trigger legal_moves")
    database.execute(SET_STATUS, {"status": status, "keys": list(keys)})
    database.execute("alter table shiftlock.job_runs enable trigger legal_moves")


def send(database: psycopg.Connection, parent: int, key: str) -> None:
    enqueue(database, "child", [NewRun(key)], sender=parent, parent=parent, message_lasts=None)


def sent_out(url: str, database: psycopg.Connection, *keys: str) -> int:
    """Runs that wait for another attempt, each a child of the one before, which has sent it out; the first one's id."""
    ids: list[int] = []
    for key, child in zip(keys, (*keys[1:], "last"), strict=True):
        with guard_on(url) as guard:
            run = claimed(guard, request(key, job="child" if ids else "nightly", tick=None, trigger="queue"))
            send(database, run.run_id, child)
            guard.finish(run, Ending(outcome="failed", status="pending"))
            ids.append(run.run_id)
    return ids[0]
