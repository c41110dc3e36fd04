"""A finding into the ledger: a run is lost with its process, or its start has failed. Repeated, it changes nothing."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import psycopg

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.duration import minutes, seconds
from handlers.declaration.policy import Retry
from handlers.guard.bury import bury, explain_loss, held_by
from handlers.guard.lock import register
from handlers.guard.start_failure import attempts_before, enter_tick, run_of_key, start_failed
from handlers.runtime.identity import Delivery, identify, identify_by_minute
from handlers.runtime.recorder.findings import Finding, NotStarted, Over, Tried
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET, full_jitter

# A region that is full, or a network that is cut, is rarely well again in seconds: a run waits 8 to 16 minutes in all.
START_AGAIN = Retry(attempts=INFRASTRUCTURE_BUDGET + 1, base=seconds(30), cap=minutes(15))

# Where a start was given up before AWS had a name for it.
DISPATCHER = "dispatcher"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was written: the outcome of the run's attempt, and the state the run is in now."""

    job: str
    run_id: int
    outcome: Literal["lost", "start_failed"]
    status: str


def start_waits(jitter: float) -> tuple[timedelta, ...]:
    """The wait after each failed start of a run, until it has failed. jitter: 0 to 1, the part of its second half."""
    return tuple(START_AGAIN.longest_wait(number) * (1 + jitter) / 2 for number in range(1, START_AGAIN.attempts))


def record(connection: psycopg.Connection, catalogue: Catalogue, finding: Finding) -> Recorded | None:
    """Write the finding; None where the ledger has it already, or the run has moved on.

    connection: in autocommit. Raises LockKeyCollision, psycopg.Error.
    """
    if isinstance(finding, NotStarted):
        return _start_failed(connection, catalogue, finding, finding.tried, DISPATCHER)
    return _lost(connection, catalogue, finding) or _unclaimed(connection, catalogue, finding)


def _lost(connection: psycopg.Connection, catalogue: Catalogue, over: Over) -> Recorded | None:
    held = held_by(connection, over.compute)
    if held is None:
        return None
    # Nobody can start a job that has left the table: a person decides.
    on_lost = next((job.on_lost for job in catalogue if job.name == held.job), "hold")
    buried = bury(connection, held, error=over.why, on_lost=on_lost, lost_budget=INFRASTRUCTURE_BUDGET)
    return None if buried is None else Recorded(buried.job, buried.run_id, "lost", buried.status)


def _unclaimed(connection: psycopg.Connection, catalogue: Catalogue, over: Over) -> Recorded | None:
    return None if over.tried is None else _start_failed(connection, catalogue, over, over.tried, over.compute)


def _start_failed(
    connection: psycopg.Connection, catalogue: Catalogue, finding: Finding, tried: Tried, compute: str
) -> Recorded | None:
    run_id = tried.delivery.run_id or _run_of_tick(connection, catalogue, finding.job, tried.delivery)
    if run_id is None or explain_loss(connection, run_id, compute=compute, error=finding.why):
        return None
    attempts = tried.attempts
    if attempts is None:
        attempts = attempts_before(connection, finding.job, run_id, compute=compute, ordered_at=tried.ordered_at)
    if attempts is None:
        return None
    failed = start_failed(
        connection,
        finding.job,
        run_id,
        attempts=attempts,
        compute=compute,
        error=finding.why,
        waits=start_waits(full_jitter()),
    )
    return None if failed is None else Recorded(failed.job, failed.run_id, "start_failed", failed.status)


def _run_of_tick(connection: psycopg.Connection, catalogue: Catalogue, name: str, delivery: Delivery) -> int | None:
    """The run of the tick that the delivery means, which gets its row here if it has none.

    None where the delivery means no tick: a job that has left the table has none, and a person who asked for a new run
    asks again.
    """
    job = next((job for job in catalogue if job.name == name), None)
    if job is None or delivery.at is None:
        return None
    meant = identify(job, delivery)
    of_another_schedule = identify_by_minute(job, delivery)
    for identity in filter(None, (of_another_schedule, meant)):
        if (run_id := run_of_key(connection, name, identity.run_key)) is not None:
            return run_id
    if meant.tick is None:
        return None
    register(connection, [name])
    enter_tick(
        connection,
        name,
        run_key=meant.run_key,
        tick=meant.tick,
        trigger=delivery.trigger,
        partition=delivery.partition,
    )
    return run_of_key(connection, name, meant.run_key)
