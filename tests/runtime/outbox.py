"""Rows of the outbox for tests of the relay."""

from typing import Any

import psycopg

from handlers.guard.lock import register
from handlers.guard.outbox import NewRun, enqueue
from handlers.queues.sending import LARGEST_BATCH
from tests.queues.post import TABLE

LEFT = "select run_key from shiftlock.outbox join shiftlock.job_runs on job_runs.id = run_id order by outbox.id"
TOO_LARGE = {"x": "x" * LARGEST_BATCH}


def write(connection: psycopg.Connection, job: str, *keys: str, **facts: Any) -> None:
    """A pending run and its row for each key; of a FIFO queue the key's first letter is the partition."""
    queue = TABLE.find(job).queue if job in {known.name for known in TABLE} else None
    fifo = queue is not None and queue.fifo
    runs = [NewRun(key, **({"partition": key[0]} if fifo else {}) | facts) for key in keys]
    register(connection, [job])
    enqueue(connection, job, runs, sender=0, message_lasts=TABLE.find("resize").queue.retention)  # type: ignore[union-attr]


def left(connection: psycopg.Connection) -> list[str]:
    """The keys of the runs that have rows in the outbox."""
    return [key for (key,) in connection.execute(LEFT)]
