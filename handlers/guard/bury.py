"""What somebody outside has seen: the process that holds a run is dead, whatever its lease says."""

from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row

from handlers.guard.rescue import NO_HEARTBEAT, LostRun, rescue

# By the running rows, of which there are few: of one process at most one among them is under way. Runs that it has left
# to their children are no longer its own.
HELD = """
select run.job_name as job, run.id as run_id, run.fence, run.backend_pid, run.backend_start, run.holder
from shiftlock.job_runs as run
join shiftlock.job_attempts as attempt on attempt.run_id = run.id and attempt.fence = run.fence
where run.status = 'running' and attempt.outcome is null and attempt.compute = %(compute)s
"""

# The run's own text is replaced only while it still speaks of this attempt: a later one may have been lost, too.
EXPLAIN_LOSS = """
with told as (
    update shiftlock.job_attempts set error = %(error)s
    where run_id = %(run_id)s and compute = %(compute)s and outcome = 'lost' and error = %(unexplained)s
    returning run_id, attempt
), noted as (
    update shiftlock.job_runs as run set error_msg = %(error)s
    from told
    where run.id = told.run_id and run.error_msg = %(unexplained)s and not exists (
        select from shiftlock.job_attempts as later
        where later.run_id = told.run_id and later.attempt > told.attempt and later.outcome is not null
    )
)
select exists (select from told)
"""


@dataclass(frozen=True, slots=True)
class Burial:
    """A run that was taken from a dead process, and the state it is in now."""

    job: str
    run_id: int
    status: str


def held_by(connection: psycopg.Connection, compute: str) -> LostRun | None:
    """The run that the ledger thinks is going on there. compute: as the attempt gave it, such as `fargate:TASK`."""
    return connection.cursor(row_factory=class_row(LostRun)).execute(HELD, {"compute": compute}).fetchone()


def bury(connection: psycopg.Connection, held: LostRun, *, error: str, on_lost: str, lost_budget: int) -> Burial | None:
    """Record that the run was lost with its process, and why, as `rescue` does when a lease has ended.

    None when the run has moved on: it was ended or taken over since it was seen, and then nothing is written.
    """
    status = rescue(connection, held, on_lost=on_lost, lost_budget=lost_budget, dead=error)
    return None if status is None else Burial(held.job, held.run_id, status)


def explain_loss(connection: psycopg.Connection, run_id: int, *, compute: str, error: str) -> bool:
    """Give the reason for a loss that was noticed by the end of the lease alone; whether there was one to explain."""
    facts = {"run_id": run_id, "compute": compute, "error": error, "unexplained": NO_HEARTBEAT}
    return connection.execute(EXPLAIN_LOSS, facts).fetchone() == (True,)
