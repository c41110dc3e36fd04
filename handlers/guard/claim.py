"""Claim a run: one statement that looks, locks, inserts or takes, and opens the attempt."""

from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from handlers.guard.answers import AlreadyDone, Answer, Busy, Claimed, Exhausted, Held
from handlers.guard.errors import NotRegistered
from handlers.guard.refusal import Retake, explain
from handlers.guard.request import ClaimRequest
from handlers.guard.rescue import rescue
from handlers.guard.session import Session
from handlers.guard.yielding import give_way

# The prior state is read first, so that a duplicate of a finished run takes no lock and writes nothing. The lock is
# tried before the row is written: of many claimants one gets it, and the others never wait on the row. Where sessions
# are pooled no lock is taken, and one_running_per_lock_key alone keeps runs apart.
CLAIM = """
with given as materialized (
    select coalesce(%(own_lock_key)s::bigint, key.lock_key) as lock_key, job.paused_at
    from shiftlock.jobs job join shiftlock.lock_keys key on key.owner = %(owner)s::text
    where job.name = %(job)s::text
), prior as materialized (
    select id, status, coalesce(skip_reason, error_msg) as reason, result, payload = %(payload)s::jsonb as same_payload
    from shiftlock.job_runs where job_name = %(job)s::text and run_key = %(run_key)s::text
), locked as materialized (
    select given.lock_key,
           case when %(row_only)s::boolean then true else pg_try_advisory_lock(given.lock_key) end as taken
    from given left join prior on true
    where (given.paused_at is null or %(trigger)s::text = 'manual')
      and (prior.id is null or prior.status = 'pending' and prior.same_payload)
      and not exists (
          select from shiftlock.job_runs other where other.lock_key = given.lock_key and other.status = 'running'
      )
), claimed as (
    insert into shiftlock.job_runs as run (
        job_name, run_key, partition, lock_key, tick, trigger, payload, status, next_run, last_run,
        attempt, fence, holder, backend_pid, backend_start, lease_until
    )
    select %(job)s::text, %(run_key)s::text, %(partition)s::text, lock_key, %(tick)s::timestamptz, %(trigger)s::text,
           %(payload)s::jsonb, 'running', coalesce(%(tick)s::timestamptz, clock_timestamp()), clock_timestamp(),
           1, nextval('shiftlock.fence'), %(holder)s::text, %(backend_pid)s::integer, %(backend_start)s::timestamptz,
           clock_timestamp() + %(lease)s::interval
    from locked where taken
    on conflict (job_name, run_key) do update set
        status = 'running', lock_key = excluded.lock_key, last_run = excluded.last_run, attempt = run.attempt + 1,
        trigger = case when run.attempt = 0 then excluded.trigger else run.trigger end, waiting = false,
        fence = excluded.fence, holder = excluded.holder, backend_pid = excluded.backend_pid,
        backend_start = excluded.backend_start, lease_until = excluded.lease_until, progress = null,
        message_until = null -- it has come; should this holder die, somebody must ring again
    where run.status = 'pending' and run.payload = excluded.payload
      -- A rule may ring up to a minute early; a person may ask for a run before its time.
      and (run.next_run <= clock_timestamp() + interval '1 minute' or excluded.trigger = 'manual')
    returning id, attempt, infra_failures, fence, holder, run.tick, checkpoint, run.payload, run.next_run, last_run,
              run.parent_id
), opened as (
    insert into shiftlock.job_attempts (run_id, attempt, fence, holder, compute, log_link)
    select id, attempt, fence, %(holder)s::text, %(compute)s::text, %(log_link)s::text from claimed
)
select prior.id as prior_id, prior.status, prior.reason, prior.result, prior.same_payload,
       claimed.id as run_id, given.lock_key, claimed.attempt, claimed.infra_failures, claimed.fence, claimed.holder,
       claimed.tick, claimed.checkpoint, claimed.payload, claimed.parent_id,
       greatest(0, extract(epoch from claimed.last_run - claimed.next_run))::float8 as start_delay,
       claimed.last_run as began_at,
       case when not %(row_only)s::boolean and locked.taken and claimed.id is null
            then pg_advisory_unlock(locked.lock_key) end as released
from given left join prior on true left join locked on true left join claimed on true
"""

RELEASE = "select pg_advisory_unlock_all()"

FINISHED = ("succeeded", "failed", "skipped", "cancelled")
# Each round ends with a reason unless another claimant moved the ledger between two of our statements.
ROUNDS = 5


def claim(session: Session, request: ClaimRequest) -> Answer:
    """Ask for the run: one round trip when it is free or finished, more only to tell why it is neither.

    A tick refused for overlap or pause leaves its row behind. Raises NotRegistered.
    """
    for _ in range(ROUNDS):
        answer = _try(session, request) or _reason(session, request)
        if answer is not None:
            return give_way(session.connection, request, answer)
    return Busy(holder="a claimant that has not committed yet", until=None, lease_left=0.0, alive=True)


def _try(session: Session, request: ClaimRequest) -> Claimed | AlreadyDone | None:
    facts = {
        "job": request.job,
        "run_key": request.run_key,
        "owner": request.lock_owner,
        "partition": request.partition,
        "tick": request.tick,
        "trigger": request.trigger,
        "payload": Jsonb(dict(request.payload)),
        "own_lock_key": request.own_lock_key,
        "holder": request.holder,
        "compute": request.compute,
        "log_link": request.log_link,
        "row_only": session.row_only,
        "backend_pid": session.backend_pid,
        "backend_start": session.backend_start,
        "lease": request.lease,
    }
    try:
        row = session.connection.cursor(row_factory=dict_row).execute(CLAIM, facts).fetchone()
    except errors.UniqueViolation:
        # Another run of the same lock key got in without this lock, as happens behind a transaction pooler. The
        # statement is undone, but a session lock taken in it is not.
        if not session.row_only:
            session.connection.execute(RELEASE)
        return None
    if row is None:
        raise NotRegistered(request.lock_owner)
    if row["run_id"] is not None:
        return Claimed(**{name: row[name] for name in Claimed.__slots__})
    if row["status"] in FINISHED and row["same_payload"]:
        return AlreadyDone(row["prior_id"], row["status"], row["reason"], row["result"])
    return None


def _reason(session: Session, request: ClaimRequest) -> Answer | None:
    """Why the run could not be claimed; None when the way is free again and it is worth another try."""
    found = explain(session.connection, request)
    if not isinstance(found, Retake):
        return found
    status = rescue(session.connection, found.lost, on_lost=request.on_lost, lost_budget=request.lost_budget)
    if found.lost.backend_pid is not None and found.lost.backend_pid == session.backend_pid:
        # The lost holder is this very session, whose lock would otherwise be taken twice and freed once.
        session.connection.execute(RELEASE)
    if not found.own or status in (None, "pending"):
        return None
    if status == "unknown":
        return Held(found.lost.run_id)
    if status == "cancelled":
        return AlreadyDone(found.lost.run_id, status, None, None)
    return Exhausted(found.lost.run_id, request.lost_budget)
