"""What a person, or a newer run, may do to a run from outside. Each is one compare-and-swap."""

from typing import Literal

import psycopg

from handlers.guard.children import ALONG, WITH_PARENT, settle
from handlers.guard.errors import GuardError

CANCEL = f"""
with recursive ended as (
    update shiftlock.job_runs set
        cancel_reason = coalesce(cancel_reason, %(reason)s),
        status = case when status = 'pending' then 'cancelled' else status end,
        finished_at = case when status = 'pending' then clock_timestamp() end,
        error_msg = case when status = 'pending' then %(reason)s else error_msg end
    where id = %(run_id)s and status in ('pending', 'running')
    returning id, status, may_fail
), {ALONG}
select status, may_fail is not null from ended
"""  # noqa: S608 - of constants

RESOLVE = """
update shiftlock.job_runs set
    status = %(status)s::text,
    finished_at = case when %(status)s::text in ('succeeded', 'failed') then clock_timestamp() end,
    next_run = clock_timestamp(), error_msg = %(note)s, cancel_reason = null, message_until = null
where id = %(run_id)s and status = 'unknown'
"""

# One more attempt is a person's right, whatever the run has used up. What was cancelled with it comes back with it: it
# would send out none of them anew, and fail for all of them.
RETRY = f"""
with recursive back as (
    select id from shiftlock.job_runs where id = %(run_id)s and status in ('failed', 'skipped', 'cancelled')
    union all
    select child.id from back cross join lateral (
        select id from shiftlock.job_runs
        where parent_id = back.id and status = 'cancelled' and cancel_reason = '{WITH_PARENT}' offset 0
    ) as child
)
update shiftlock.job_runs set
    status = 'pending', next_run = clock_timestamp(), finished_at = null, skip_reason = null, cancel_reason = null,
    waiting = false, message_until = null, untold = false
where id in (select id from back) and status in ('failed', 'skipped', 'cancelled')
"""  # noqa: S608 - of constants

PAUSE = """
update shiftlock.jobs set paused_at = clock_timestamp() where name = %(job)s and paused_at is null
"""
RESUME = "update shiftlock.jobs set paused_at = null where name = %(job)s and paused_at is not null"

STATUS = "select status from shiftlock.job_runs where id = %(run_id)s"

Verdict = Literal["succeeded", "failed", "retry"]


class CannotIntervene(GuardError):
    """The run is not in a state for this; the message says in which it is."""

    def __init__(self, run_id: int, status: str | None, wanted: str) -> None:
        self.run_id, self.status = run_id, status
        super().__init__(
            f"run {run_id} does not exist"
            if status is None
            else f"run {run_id} is {status}: only {wanted} runs can be treated so"
        )


def cancel(connection: psycopg.Connection, run_id: int, reason: str) -> Literal["cancelled", "asked"]:
    """End a pending run at once, or ask the holder of a running one, which hears of it with its next heartbeat.

    Raises CannotIntervene when the run has ended.
    """
    row = connection.execute(CANCEL, {"run_id": run_id, "reason": reason}).fetchone()
    if row is None:
        raise CannotIntervene(run_id, _status(connection, run_id), "pending and running")
    status, waits_for_children = row
    # A run that waits for its children has no heartbeat that would tell it.
    ended = status == "cancelled" or (waits_for_children and bool(settle(connection, run_id, failed=True)))
    return "cancelled" if ended else "asked"


def resolve(connection: psycopg.Connection, run_id: int, verdict: Verdict, note: str) -> None:
    """Say what became of an unknown run, or have it tried again. Raises CannotIntervene."""
    facts = {"run_id": run_id, "status": "pending" if verdict == "retry" else verdict, "note": note}
    if connection.execute(RESOLVE, facts).rowcount == 0:
        raise CannotIntervene(run_id, _status(connection, run_id), "unknown")


def retry(connection: psycopg.Connection, run_id: int) -> None:
    """Let a run that failed, was skipped or was cancelled be due again. Raises CannotIntervene."""
    if connection.execute(RETRY, {"run_id": run_id}).rowcount == 0:
        raise CannotIntervene(run_id, _status(connection, run_id), "failed, skipped and cancelled")


def pause(connection: psycopg.Connection, job: str) -> bool:
    """Let no more ticks of the job start, each of which ends skipped; whether it was not paused before."""
    return connection.execute(PAUSE, {"job": job}).rowcount > 0


def resume(connection: psycopg.Connection, job: str) -> bool:
    """Let the job's ticks start again, from the next one on; whether it was paused."""
    return connection.execute(RESUME, {"job": job}).rowcount > 0


def _status(connection: psycopg.Connection, run_id: int) -> str | None:
    row = connection.execute(STATUS, {"run_id": run_id}).fetchone()
    return None if row is None else str(row[0])
