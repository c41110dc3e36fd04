"""Runs that a job asks for in its own transaction, with the messages that will ring for them: all of it or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from handlers.guard.errors import GuardError, LockKeyCollision
from handlers.guard.lock import lock_key, register

# Runs that send each other in a circle would go on for ever. Lambda itself cuts a loop through SQS after 16 turns
# ("Use Lambda recursive loop detection"), and tells nobody what was in it.
MOST_HOPS = 10

HOPS = "select hops + 1 from shiftlock.job_runs where id = %(sender)s"

# In one order for all, so that of two senders the second waits for the first, and never each for the other.
REGISTER_KEYS = """
insert into shiftlock.lock_keys (owner, lock_key)
select owner, lock_key from unnest(%(owners)s::text[], %(lock_keys)s::bigint[]) as asked (owner, lock_key)
order by owner on conflict do nothing
"""
COLLIDING = """
select owner, lock_key from unnest(%(owners)s::text[], %(lock_keys)s::bigint[]) as asked (owner, lock_key)
where not exists (select from shiftlock.lock_keys as key where key.owner = asked.owner)
"""

ENQUEUE = """
with asked as (
    select * from unnest(
        %(keys)s::text[], %(partitions)s::text[], %(lock_keys)s::bigint[], %(payloads)s::jsonb[], %(delays)s::interval[]
    ) with ordinality as asked (run_key, partition, lock_key, payload, delay, place)
), new as (
    insert into shiftlock.job_runs (
        job_name, run_key, partition, lock_key, trigger, payload, status, next_run, parent_id, hops, message_until
    )
    select %(job)s::text, run_key, partition, lock_key, 'queue', payload, 'pending', clock_timestamp() + delay,
           %(parent)s::bigint, %(hops)s::smallint, clock_timestamp() + delay + %(message_lasts)s::interval
    from asked order by place
    on conflict (job_name, run_key) do nothing
    returning id, next_run
), mail as (
    insert into shiftlock.outbox (run_id, job_name, send_after)
    select id, %(job)s::text, next_run - %(held_back)s::interval from new
    where %(message_lasts)s::interval is not null order by id
)
select count(*) from new
"""

# What a key stands for is its payload: another one under it would be lost without a word. So would be a child that is
# counted to another parent, where two keys of parents and items make the same together.
TAKEN = """
select asked.run_key from unnest(%(keys)s::text[], %(payloads)s::jsonb[]) as asked (run_key, payload)
join shiftlock.job_runs as run on run.job_name = %(job)s and run.run_key = asked.run_key
where run.payload <> asked.payload or run.parent_id is distinct from coalesce(%(parent)s::bigint, run.parent_id)
limit 1
"""


class KeyTaken(GuardError):
    """A key stands for a run with another payload, or of another parent, already."""

    def __init__(self, job: str, run_key: str) -> None:
        self.job, self.run_key = job, run_key
        super().__init__(
            f"{job} has a run {run_key!r} with another payload or parent: give each piece of work a key of its own"
        )


class TooManyHops(GuardError):
    """Runs send each other in a circle, or in a chain that is longer than anybody meant."""

    def __init__(self, job: str) -> None:
        self.job = job
        super().__init__(
            f"{job} would be run number {MOST_HOPS + 1} of a chain: allowed are {MOST_HOPS}, so look for a circle"
        )


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that is asked for. partition: its runs go one at a time; without one each is free of all others."""

    run_key: str
    payload: dict[str, Any] = field(default_factory=dict)
    partition: str | None = None
    delay: timedelta = timedelta()

    def lock_owner(self, job: str) -> str:
        """Whose lock key it takes: its partition's, or its own, which nobody else has (names have no blank)."""
        return f"{job} {self.run_key}" if self.partition is None else f"{job}/{self.partition}"


def enqueue(
    connection: psycopg.Connection,
    job: str,
    runs: Sequence[NewRun],
    *,
    sender: int,
    parent: int | None = None,
    message_lasts: timedelta | None,
    held_back: timedelta = timedelta(),
) -> int:
    """Write a pending run for each key that the job has none for; how many are new.

    Call it in the transaction of the work that they are about. sender: the id of the run that asks. parent: the run
    that they are a part of. message_lasts: how long a message of theirs waits in its queue; None writes no message,
    where there are no queues and whoever looks at the ledger starts what is due. held_back: the part of their delay
    that the queue itself sees to.

    Raises KeyTaken, TooManyHops, LockKeyCollision.
    """
    row = connection.execute(HOPS, {"sender": sender}).fetchone()
    hops = 1 if row is None else row[0]
    if hops > MOST_HOPS:
        raise TooManyHops(job)
    register(connection, [job])
    _register_partitions(connection, {run.lock_owner(job) for run in runs if run.partition is not None})
    facts = {
        "job": job,
        "keys": [run.run_key for run in runs],
        "partitions": [run.partition for run in runs],
        "lock_keys": [lock_key(run.lock_owner(job)) for run in runs],
        "payloads": [Jsonb(run.payload) for run in runs],
        "delays": [run.delay for run in runs],
        "parent": parent,
        "hops": hops,
        "message_lasts": message_lasts,
        "held_back": held_back,
    }
    counted = connection.execute(ENQUEUE, facts).fetchone()
    new = 0 if counted is None else int(counted[0])
    if new < len(runs):
        taken = connection.execute(
            TAKEN, {name: facts[name] for name in ("job", "keys", "payloads", "parent")}
        ).fetchone()
        if taken is not None:
            raise KeyTaken(job, taken[0])
    return new


def _register_partitions(connection: psycopg.Connection, owners: set[str]) -> None:
    if not owners:
        return
    facts = {"owners": sorted(owners), "lock_keys": [lock_key(owner) for owner in sorted(owners)]}
    if connection.execute(REGISTER_KEYS, facts).rowcount < len(owners):
        colliding = connection.execute(COLLIDING, facts).fetchone()
        if colliding is not None:
            raise LockKeyCollision(*colliding)
