"""The outbox as a relay sees it: which rows are due, and how they go."""

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import class_row

from handlers.guard.lock import lock_key

JOBS_DUE = """
select job_name from shiftlock.outbox where send_after <= clock_timestamp() group by job_name order by min(id)
"""

# Held to the end of the transaction: what the next relay then sees was not sent, or is to be sent again.
TAKE_LINE = "select pg_try_advisory_xact_lock(%(key)s)"

# As many rows as their payloads fit into, and always one. A payload that no message could hold stays where it is.
DUE = """
select id, run_key, partition, size, pending, case when pending and size <= %(largest)s then payload end as payload
from (
    select first.*, sum(size) over (order by id) - size as before
    from (
        select box.id, run.run_key, run.partition, run.payload, run.status = 'pending' as pending,
               octet_length(run.payload::text) as size
        from shiftlock.outbox as box join shiftlock.job_runs as run on run.id = box.run_id
        where box.job_name = %(job)s and box.send_after <= clock_timestamp()
          and box.id <> all(%(kept)s::bigint[]) and coalesce(run.partition, '') <> all(%(blocked)s::text[])
        order by box.id limit %(limit)s
    ) as first
) as summed
where before < %(together)s
order by id
"""

# Nobody else may think that a message is on its way: the run may be pending again at any moment.
FORGET = """
with gone as (delete from shiftlock.outbox where id = any(%(ids)s::bigint[]) returning run_id)
update shiftlock.job_runs set message_until = null
where id in (select run_id from gone) and finished_at is null and message_until is not null
"""

REMOVE = "delete from shiftlock.outbox where id = any(%(ids)s::bigint[])"

LEFT = """
select count(*), coalesce(extract(epoch from clock_timestamp() - min(greatest(send_after, created_at))), 0)::float8
from shiftlock.outbox where send_after <= clock_timestamp()
"""

TOGETHER = 8 * 2**20  # bytes of payloads that are in memory at once
# The ledger writes JSON with blanks, a message has none: what is larger than this fits no message, blanks or not.
LARGEST = 2 * 2**20


@dataclass(frozen=True, slots=True)
class Mail:
    """A row that is due, and the run that it rings for, if that is pending still.

    size: bytes of the payload in the ledger; payload: None where nobody could send it.
    """

    id: int
    run_key: str
    partition: str | None
    size: int
    pending: bool
    payload: dict[str, Any] | None


def jobs_due(connection: psycopg.Connection) -> list[str]:
    """The jobs that have rows to send, that with the oldest first."""
    return [job for (job,) in connection.execute(JOBS_DUE)]


def take_line(connection: psycopg.Connection, job: str) -> bool:
    """Whether this transaction alone relays the job's messages up to its end; another one may be at it.

    No job's name begins with a blank, so this is the lock key of no job and of no run.
    """
    return connection.execute(TAKE_LINE, {"key": lock_key(f" outbox {job}")}).fetchone() == (True,)


def due(connection: psycopg.Connection, job: str, *, kept: list[int], blocked: list[str], limit: int) -> list[Mail]:
    """The job's next rows in the order they were written, without those in `kept` and of partitions in `blocked`."""
    facts = {
        "job": job,
        "kept": kept,
        "blocked": blocked,
        "limit": limit,
        "largest": LARGEST,
        "together": TOGETHER,
    }
    return connection.cursor(row_factory=class_row(Mail)).execute(DUE, facts).fetchall()


def remove(connection: psycopg.Connection, ids: list[int]) -> None:
    """Delete rows whose messages are sent."""
    if ids:
        connection.execute(REMOVE, {"ids": ids})


def forget(connection: psycopg.Connection, ids: list[int]) -> None:
    """Delete rows without a message: their runs have ended, or go on."""
    if ids:
        connection.execute(FORGET, {"ids": ids})


def left(connection: psycopg.Connection) -> tuple[int, float]:
    """How many rows are due, and for how many seconds the oldest has been; 0 and 0.0 without any."""
    count, age = connection.execute(LEFT).fetchone() or (0, 0.0)
    return count, age
