"""Take a run out of the hands of a holder whose lease has ended, or that is known to be dead."""

from dataclasses import dataclass
from datetime import datetime

import psycopg

from handlers.guard.children import ALONG
from handlers.guard.connection import work_session

# Only if the lease has ended in the meantime too: the holder may have renewed it since we looked. A run that waits for
# its children has no holder to lose.
RESCUE = f"""
with recursive ended as (
    update shiftlock.job_runs set
        status = next.status,
        finished_at = case when next.status in ('failed', 'cancelled') then clock_timestamp() end,
        error_msg = coalesce(cancel_reason, %(error)s), infra_failures = infra_failures + 1,
        next_run = clock_timestamp(), holder = null, backend_pid = null, backend_start = null, lease_until = null
    from (
        select id, case when %(on_lost)s::text = 'hold' then 'unknown'
                        when cancel_reason is not null then 'cancelled'
                        when infra_failures >= %(lost_budget)s then 'failed'
                        else 'pending' end as status
        from shiftlock.job_runs where id = %(run_id)s
    ) as next
    where job_runs.id = next.id and fence = %(fence)s and job_runs.status = 'running'
      and (lease_until <= clock_timestamp() or %(dead)s::boolean) and may_fail is null
    returning job_runs.id, job_runs.status
), {ALONG}, lost as (
    update shiftlock.job_attempts attempt
    set outcome = 'lost', ended_at = clock_timestamp(), error = %(error)s
    from ended where attempt.run_id = ended.id and attempt.outcome is null
)
select status from ended
"""  # noqa: S608 - of constants

# The holder's guard: its process id may be somebody else's by now, but not together with the start time. The job's
# own sessions: by the name that carries run and fence.
END_GHOSTS = """
select pg_terminate_backend(ghost.pid, 5000) from pg_stat_activity as ghost
where ghost.pid <> pg_backend_pid() and ghost.datname = current_database()
  and (ghost.pid = %(backend_pid)s and ghost.backend_start = %(backend_start)s or ghost.application_name = %(work)s)
"""

NO_HEARTBEAT = "no heartbeat before the lease ended"


@dataclass(frozen=True, slots=True)
class LostRun:
    """A run as it was seen when its holder was found lost."""

    job: str
    run_id: int
    fence: int
    backend_pid: int | None
    backend_start: datetime | None
    holder: str | None = None


def rescue(
    connection: psycopg.Connection, lost: LostRun, *, on_lost: str, lost_budget: int, dead: str | None = None
) -> str | None:
    """Record the loss and return the run's new status: pending, failed (lost too often), cancelled (somebody had
    asked for that) or unknown (on_lost=hold).

    dead: how its holder died, from somebody who has seen that; the end of the lease is not waited for then. None when
    the run was no longer there to rescue. Sessions of the holder that are still open are ended: a frozen process
    would go on holding the advisory lock, and the locks of its open transaction.
    """
    facts = {
        "run_id": lost.run_id,
        "fence": lost.fence,
        "on_lost": on_lost,
        "lost_budget": lost_budget,
        "error": dead or NO_HEARTBEAT,
        "dead": dead is not None,
    }
    row = connection.execute(RESCUE, facts).fetchone()
    if row is None:
        return None
    end_ghosts(connection, lost)
    return str(row[0])


def end_ghosts(connection: psycopg.Connection, lost: LostRun) -> None:
    """End the sessions of a holder that has lost its run, where this role may end them.

    One that worked behind a transaction pooler had none of its own: a session that still goes by its name may have
    been lent to anybody since.
    """
    if lost.backend_pid is None:
        return
    facts = {
        "backend_pid": lost.backend_pid,
        "backend_start": lost.backend_start,
        "work": work_session(lost.job, lost.run_id, lost.fence),
    }
    try:
        connection.execute(END_GHOSTS, facts)
    except psycopg.errors.InsufficientPrivilege:
        # They are another role's. They go without help too: the server drops a guard that has been idle for a lease.
        return
