"""What a refused tick leaves in the ledger: a row that is skipped with its reason, or one that waits for its turn."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from handlers.guard.answers import Answer, Overlap, Paused, Queued
from handlers.guard.request import ClaimRequest

SKIP = """
insert into shiftlock.job_runs as run
    (job_name, run_key, partition, lock_key, tick, trigger, payload, status, skip_reason, next_run, finished_at)
select name, %(run_key)s, %(partition)s, lock_key, %(tick)s, %(trigger)s, %(payload)s, 'skipped', %(reason)s, %(tick)s,
       clock_timestamp()
from shiftlock.jobs where name = %(job)s
on conflict (job_name, run_key) do update
set status = 'skipped', skip_reason = excluded.skip_reason, finished_at = excluded.finished_at
where run.status = 'pending' and run.attempt = 0 and not run.waiting
"""

# The place of the one that may wait is taken by one_waiting_per_lock_key, whoever comes at the same time.
QUEUE = """
insert into shiftlock.job_runs as run
    (job_name, run_key, partition, lock_key, tick, trigger, payload, status, next_run, waiting)
select job_name, %(run_key)s, %(partition)s, lock_key, %(tick)s, %(trigger)s, %(payload)s, 'pending',
       coalesce(%(tick)s::timestamptz, clock_timestamp()), true
from shiftlock.job_runs where id = %(other)s
on conflict (job_name, run_key) do update set waiting = true, lock_key = excluded.lock_key
where run.status = 'pending'
"""

# Its start has come to nothing, and the next pass of a scheduler need not wait to see whether it does.
CALL_OFF = """
update shiftlock.job_runs set called_at = null
where job_name = %(job)s and run_key = %(run_key)s and status = 'pending' and called_at is not null
"""

NEXT_IN_LINE = """
select run_key, partition, tick, trigger, payload from shiftlock.job_runs
where lock_key = %(lock_key)s and status = 'pending' and waiting
"""

BY_ID = """
select run_key, partition, tick, trigger, payload from shiftlock.job_runs where id = %(run_id)s and job_name = %(job)s
"""

# Triggers of what makes up for a tick, and of what is to be tried again: they have no moment to miss.
OWED = ("catch-up", "retry")

HAS_RUN = "select exists (select from shiftlock.job_runs where job_name = %(job)s and run_key = %(run_key)s)"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run of the ledger, with what it takes to claim it."""

    run_key: str
    partition: str | None
    tick: datetime | None
    trigger: str
    payload: dict[str, Any]


def next_in_line(connection: psycopg.Connection, lock_key: int) -> Waiting | None:
    """The run that waits for the lock key, if one does."""
    row = connection.execute(NEXT_IN_LINE, {"lock_key": lock_key}).fetchone()
    return None if row is None else Waiting(*row)


def run_by_id(connection: psycopg.Connection, job: str, run_id: int) -> Waiting | None:
    """The run of the job that has this id, in whatever state it is."""
    row = connection.execute(BY_ID, {"job": job, "run_id": run_id}).fetchone()
    return None if row is None else Waiting(*row)


def has_run(connection: psycopg.Connection, job: str, run_key: str) -> bool:
    """Whether the ledger has a run of the job with this key."""
    return connection.execute(HAS_RUN, {"job": job, "run_key": run_key}).fetchone() == (True,)


def give_way(connection: psycopg.Connection, request: ClaimRequest, answer: Answer) -> Answer:
    """Leave the row that the answer calls for; the answer, or Queued when the run will have its turn.

    A refused request of a person leaves no skipped row: it is told to the person, and no tick is missed. Whatever meets
    a run that makes up for a missed tick waits for it, whatever the job says of overlaps.
    """
    if isinstance(answer, Overlap):
        if (request.overlap == "queue" or answer.catching_up) and _queued(connection, request, answer):
            return Queued(answer.other_run_key)
        if request.overlap == "replace":
            if not answer.newer:
                return answer  # the other will be asked to stop
            _skip(connection, request, "superseded")
        elif request.trigger in OWED:
            connection.execute(CALL_OFF, _facts(request))
        else:
            _skip(connection, request, "overlap")
    elif isinstance(answer, Paused):
        _skip(connection, request, "paused")
    return answer


def _queued(connection: psycopg.Connection, request: ClaimRequest, overlap: Overlap) -> bool:
    try:
        connection.execute(QUEUE, {**_facts(request), "other": overlap.other_run_id})
    except psycopg.errors.UniqueViolation:
        return False  # another run waits already
    return True


def _skip(connection: psycopg.Connection, request: ClaimRequest, reason: str) -> None:
    # What makes up for a tick, and what is owed, has no moment to miss: it stays due.
    if request.tick is not None and request.trigger not in OWED:
        connection.execute(SKIP, {**_facts(request), "reason": reason})


def _facts(request: ClaimRequest) -> dict[str, object]:
    return {
        "job": request.job,
        "run_key": request.run_key,
        "partition": request.partition,
        "tick": request.tick,
        "trigger": request.trigger,
        "payload": Jsonb(dict(request.payload)),
    }
