"""End an attempt: one statement that writes the end under the fence, plans the next tick and frees the lock."""

from psycopg.types.json import Jsonb

from handlers.guard.answers import Claimed
from handlers.guard.children import ALONG
from handlers.guard.errors import Fenced
from handlers.guard.request import Ending
from handlers.guard.session import Session

# A zombie finds no row to end. Its own attempt is then marked `fenced`, unless this very ending is already recorded:
# the answer to a first try may have been lost with the connection.
FINISH = f"""
with recursive ended as (
    update shiftlock.job_runs set
        -- A run that somebody wants to end is not tried again.
        status = case when %(status)s::text = 'pending' and cancel_reason is not null then 'cancelled'
                      else %(status)s::text end,
        finished_at = case when %(status)s::text in ('succeeded', 'failed', 'cancelled')
                             or %(status)s::text = 'pending' and cancel_reason is not null then clock_timestamp() end,
        next_run = case when %(status)s::text = 'pending' then clock_timestamp() + %(retry_in)s else next_run end,
        infra_failures = infra_failures + %(infrastructure)s::integer,
        result = %(result)s, error_msg = %(error)s,
        holder = case when %(status)s::text = 'running' then 'its children' end,
        lease_until = case when %(status)s::text = 'running' then timestamptz '2200-01-01 00:00Z' end,
        may_fail = %(may_fail)s, backend_pid = null, backend_start = null,
        -- The process of a message is no failure to AWS when its run is one. Of children their parent tells.
        untold = trigger = 'queue' and parent_id is null and %(status)s::text in ('failed', 'unknown')
    where id = %(run_id)s and fence = %(fence)s and holder = %(holder)s and status = 'running'
    returning id, job_name, status
), {ALONG}, attempt as (
    update shiftlock.job_attempts
    set outcome = case when exists (select from ended) then %(outcome)s::text else 'fenced' end,
        ended_at = clock_timestamp(), error = %(error)s
    where run_id = %(run_id)s and fence = %(fence)s and holder = %(holder)s and (outcome is null or outcome = 'lost')
    returning outcome
), planned as (
    insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, next_run)
    select job.name, %(next_key)s, job.lock_key, %(next_tick)s::timestamptz, 'plan', 'pending',
           %(next_tick)s::timestamptz
    from ended join shiftlock.jobs job on job.name = ended.job_name
    where %(next_key)s::text is not null
    on conflict (job_name, run_key) do nothing
)
select coalesce((select outcome from attempt),
                (select outcome from shiftlock.job_attempts
                 where run_id = %(run_id)s and fence = %(fence)s and holder = %(holder)s))
       = %(outcome)s::text as ours,
       case when not %(row_only)s::boolean then pg_advisory_unlock(%(lock_key)s) end
"""  # noqa: S608 - of constants


def finish(session: Session, claimed: Claimed, ending: Ending) -> None:
    """Record how the attempt ended. Raises Fenced when the run is no longer this holder's; then nothing is recorded
    but that."""
    facts = {
        "run_id": claimed.run_id,
        "fence": claimed.fence,
        "holder": claimed.holder,
        "lock_key": claimed.lock_key,
        "status": ending.status,
        "outcome": ending.outcome,
        "result": None if ending.result is None else Jsonb(ending.result),
        "error": ending.error,
        "retry_in": ending.retry_in,
        "infrastructure": ending.infrastructure,
        "may_fail": ending.may_fail,
        "next_key": ending.next_key,
        "next_tick": ending.next_tick,
        "row_only": session.row_only,
    }
    row = session.connection.execute(FINISH, facts).fetchone()
    if row is None or not row[0]:
        raise Fenced(claimed.run_id, claimed.fence)
