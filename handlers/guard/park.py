"""What the ledger is told of a message: that its run has none any more, when it comes again, or that it says no run."""

from collections.abc import Mapping
from datetime import timedelta
from typing import LiteralString

import psycopg
from psycopg.types.json import Jsonb

from handlers.guard.errors import NotRegistered
from handlers.guard.lock import lock_key, register
from handlers.guard.outbox import NewRun

# A run that is there keeps all that it has: only the message has gone.
PARK = """
insert into shiftlock.job_runs as run (job_name, run_key, partition, lock_key, trigger, payload, status)
select name, %(run_key)s, %(partition)s, %(lock_key)s, 'queue', %(payload)s, 'pending'
from shiftlock.jobs where name = %(job)s
on conflict (job_name, run_key) do update set message_until = null
returning id
"""

# A message that is shown again before its run is due would be shown in vain.
EXPECT_MESSAGE = """
update shiftlock.job_runs
set message_until = greatest(next_run, clock_timestamp() + %(wait)s::interval) + %(start_within)s::interval
where job_name = %(job)s and run_key = %(run_key)s and status = 'pending'
"""

# Shown a second time, the same message has the same key.
REFUSE = """
insert into shiftlock.job_runs as run (job_name, run_key, lock_key, trigger, status, error_msg, finished_at, untold)
select name, %(run_key)s, %(lock_key)s, 'queue', 'failed', %(reason)s, clock_timestamp(), true
from shiftlock.jobs where name = %(job)s
on conflict (job_name, run_key) do update set error_msg = run.error_msg
returning id
"""


def park(connection: psycopg.Connection, job: str, run: NewRun) -> int:
    """Make sure that the ledger has the run, and that it has no message any more; the run's id.

    The watchdog rings for it when it may start. Raises LockKeyCollision.
    """
    facts = {
        "job": job,
        "run_key": run.run_key,
        "partition": run.partition,
        "lock_key": lock_key(run.lock_owner(job)),
        "payload": Jsonb(run.payload),
    }
    return _written(connection, job, PARK, facts)


def expect_message(
    connection: psycopg.Connection, job: str, run_key: str, *, wait: timedelta, start_within: timedelta
) -> bool:
    """Note that the run's message is shown again after `wait`, so that nobody else rings before it could start.

    start_within: how long after that it may take until it has started. Whether the run was pending.
    """
    facts = {"job": job, "run_key": run_key, "wait": wait, "start_within": start_within}
    return connection.execute(EXPECT_MESSAGE, facts).rowcount > 0


def refuse(connection: psycopg.Connection, job: str, message_id: str, reason: str) -> int:
    """Write a failed run for a message that says no run, with the reason; its id. Raises LockKeyCollision."""
    run_key = f"message:{message_id}"
    facts = {"job": job, "run_key": run_key, "lock_key": lock_key(f"{job} {run_key}"), "reason": reason}
    return _written(connection, job, REFUSE, facts)


def _written(connection: psycopg.Connection, job: str, statement: LiteralString, facts: Mapping[str, object]) -> int:
    """The id of the row; a job that the ledger does not know yet is registered on the way."""
    row = connection.execute(statement, facts).fetchone()
    if row is None:
        register(connection, [job])
        row = connection.execute(statement, facts).fetchone()
    if row is None:
        raise NotRegistered(job)
    return int(row[0])
