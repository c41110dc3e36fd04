"""Take a run out of the hands of a holder whose lease has ended."""

from dataclasses import dataclass
from datetime import datetime

import psycopg

# Only if the lease has ended in the meantime too: the holder may have renewed it since we looked.
RESCUE = """
with lost as (
    update shiftlock.job_runs set
        status = case when %(on_lost)s::text = 'hold' then 'unknown'
                      when infra_failures >= %(lost_budget)s then 'failed'
                      else 'pending' end,
        finished_at = case when %(on_lost)s::text <> 'hold' and infra_failures >= %(lost_budget)s
                           then clock_timestamp() end,
        error_msg = %(error)s, infra_failures = infra_failures + 1, next_run = clock_timestamp(),
        holder = null, backend_pid = null, backend_start = null, lease_until = null
    where id = %(run_id)s and fence = %(fence)s and status = 'running' and lease_until <= clock_timestamp()
    returning id, status
), ended as (
    update shiftlock.job_attempts attempt
    set outcome = 'lost', ended_at = clock_timestamp(), error = %(error)s
    from lost where attempt.run_id = lost.id and attempt.fence = %(fence)s and attempt.outcome is null
)
select status from lost
"""

# The server's process id may belong to somebody else by now: only together with the start time is it the ghost's.
END_GHOST = """
select pg_terminate_backend(ghost.pid, 5000) from pg_stat_get_activity(%(backend_pid)s) as ghost
where ghost.backend_start = %(backend_start)s and ghost.pid <> pg_backend_pid()
"""

NO_HEARTBEAT = "no heartbeat before the lease ended"


@dataclass(frozen=True, slots=True)
class LostRun:
    """A run as it was seen after its lease had ended."""

    run_id: int
    fence: int
    backend_pid: int | None
    backend_start: datetime | None


def rescue(connection: psycopg.Connection, lost: LostRun, *, on_lost: str, lost_budget: int) -> str | None:
    """Record the loss and return the run's new status: pending, failed (lost too often) or unknown (on_lost=hold).

    None when it was no longer there to rescue. A session of the holder that is still open is ended, since it would
    go on holding the advisory lock.
    """
    facts = {
        "run_id": lost.run_id,
        "fence": lost.fence,
        "on_lost": on_lost,
        "lost_budget": lost_budget,
        "error": NO_HEARTBEAT,
    }
    row = connection.execute(RESCUE, facts).fetchone()
    if row is None:
        return None
    connection.execute(END_GHOST, {"backend_pid": lost.backend_pid, "backend_start": lost.backend_start})
    return str(row[0])
