"""What ledger and effects say about one job after its run, as plain records."""

from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.rows import class_row

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Run:
    """A row of the ledger."""

    run_key: str
    status: str
    trigger: str
    attempt: int
    fence: int | None
    result: Any
    error_msg: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt of the run under test; pid is its holder's process."""

    attempt: int
    fence: int
    pid: int
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """A record of a step."""

    step_key: str
    fence: int


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that the job did."""

    name: str
    attempt: int
    pid: int


@dataclass(frozen=True, slots=True)
class Move:
    """A change of a run's state; old is None for a new row and new for a deleted one. written: the transaction."""

    run_key: str
    old: str | None
    new: str | None
    old_fence: int | None
    new_fence: int | None
    written: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the checker looks at. total: the sum that every effect adds 1 to; sessions: what is still open."""

    runs: tuple[Run, ...]
    attempts: tuple[Attempt, ...]
    steps: tuple[Step, ...]
    effects: tuple[Effect, ...]
    total: int
    moves: tuple[Move, ...]
    locks: int
    sessions: tuple[str, ...]


RUNS = """
select run_key, status, trigger, attempt, fence, result, error_msg from shiftlock.job_runs
where job_name = %(job)s order by id
"""
ATTEMPTS = """
select a.attempt, a.fence, coalesce(substring(a.holder from ':([0-9]+):')::integer, 0) as pid, a.outcome
from shiftlock.job_attempts a join shiftlock.job_runs r on r.id = a.run_id
where r.job_name = %(job)s and r.run_key = %(run_key)s order by a.attempt
"""
STEPS = """
select s.step_key, s.fence from shiftlock.run_steps s join shiftlock.job_runs r on r.id = s.run_id
where r.job_name = %(job)s and r.run_key = %(run_key)s
"""
EFFECTS = "select name, attempt, pid from faults.effect where job = %(job)s order by id"
TOTAL = "select coalesce(sum(total), 0)::integer from faults.account where job = %(job)s"
MOVES = """
select run_key, old, new, old_fence, new_fence, written::text from faults.move where job = %(job)s order by id
"""
LOCKS = """
select count(*) from pg_locks
where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
"""
SESSIONS = """
select concat_ws(' ', application_name, state, wait_event, left(query, 60)) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
"""


def read(connection: psycopg.Connection, job: str, run_key: str) -> Facts:
    """Everything about the run, and about what is left of its workers in this database."""
    given = {"job": job, "run_key": run_key}

    def rows(kind: type[Row], query: LiteralString) -> tuple[Row, ...]:
        return tuple(connection.cursor(row_factory=class_row(kind)).execute(query, given))

    [(total,)] = connection.execute(TOTAL, given)
    return Facts(
        runs=rows(Run, RUNS),
        attempts=rows(Attempt, ATTEMPTS),
        steps=rows(Step, STEPS),
        effects=rows(Effect, EFFECTS),
        total=total,
        moves=rows(Move, MOVES),
        locks=held_locks(connection),
        sessions=open_sessions(connection),
    )


def held_locks(connection: psycopg.Connection) -> int:
    """How many advisory locks are held in this database."""
    [(locks,)] = connection.execute(LOCKS)
    return int(locks)


def open_sessions(connection: psycopg.Connection) -> tuple[str, ...]:
    """Sessions of others with this database, each with what it does."""
    return tuple(text for (text,) in connection.execute(SESSIONS))
