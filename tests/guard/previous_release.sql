-- What the guard of 232d765 asks of the ledger. Written by tests/guard/previous_release.py.

-- statement: claim.CLAIM
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
        backend_start = excluded.backend_start, lease_until = excluded.lease_until, progress = null
    where run.status = 'pending' and run.payload = excluded.payload
      -- A rule may ring up to a minute early; a person may ask for a run before its time.
      and (run.next_run <= clock_timestamp() + interval '1 minute' or excluded.trigger = 'manual')
    returning id, attempt, infra_failures, fence, run.tick, checkpoint, run.payload, run.next_run, last_run
), opened as (
    insert into shiftlock.job_attempts (run_id, attempt, fence, holder, compute)
    select id, attempt, fence, %(holder)s::text, %(compute)s::text from claimed
)
select prior.id as prior_id, prior.status, prior.reason, prior.result, prior.same_payload,
       claimed.id as run_id, given.lock_key, claimed.attempt, claimed.infra_failures, claimed.fence, claimed.tick,
       claimed.checkpoint, claimed.payload,
       greatest(0, extract(epoch from claimed.last_run - claimed.next_run))::float8 as start_delay,
       claimed.last_run as began_at,
       case when not %(row_only)s::boolean and locked.taken and claimed.id is null
            then pg_advisory_unlock(locked.lock_key) end as released
from given left join prior on true left join locked on true left join claimed on true

-- statement: finish.FINISH
with ended as (
    update shiftlock.job_runs set
        -- A run that somebody wants to end is not tried again.
        status = case when %(status)s::text = 'pending' and cancel_reason is not null then 'cancelled'
                      else %(status)s::text end,
        finished_at = case when %(status)s::text in ('succeeded', 'failed', 'cancelled')
                             or %(status)s::text = 'pending' and cancel_reason is not null then clock_timestamp() end,
        next_run = case when %(status)s::text = 'pending' then clock_timestamp() + %(retry_in)s else next_run end,
        infra_failures = infra_failures + %(infrastructure)s::integer,
        result = %(result)s, error_msg = %(error)s,
        holder = null, backend_pid = null, backend_start = null, lease_until = null
    where id = %(run_id)s and fence = %(fence)s and status = 'running'
    returning id, job_name
), attempt as (
    update shiftlock.job_attempts
    set outcome = case when exists (select from ended) then %(outcome)s::text else 'fenced' end,
        ended_at = clock_timestamp(), error = %(error)s
    where run_id = %(run_id)s and fence = %(fence)s and (outcome is null or outcome = 'lost')
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
                (select outcome from shiftlock.job_attempts where run_id = %(run_id)s and fence = %(fence)s))
       = %(outcome)s::text as ours,
       case when not %(row_only)s::boolean then pg_advisory_unlock(%(lock_key)s) end

-- statement: intervene.CANCEL
update shiftlock.job_runs set
    cancel_reason = coalesce(cancel_reason, %(reason)s),
    status = case when status = 'pending' then 'cancelled' else status end,
    finished_at = case when status = 'pending' then clock_timestamp() end,
    error_msg = case when status = 'pending' then %(reason)s else error_msg end
where id = %(run_id)s and status in ('pending', 'running')
returning status

-- statement: intervene.RESOLVE
update shiftlock.job_runs set
    status = %(status)s::text,
    finished_at = case when %(status)s::text in ('succeeded', 'failed') then clock_timestamp() end,
    next_run = clock_timestamp(), error_msg = %(note)s, cancel_reason = null
where id = %(run_id)s and status = 'unknown'

-- statement: intervene.RETRY
update shiftlock.job_runs set
    status = 'pending', next_run = clock_timestamp(), finished_at = null, skip_reason = null, cancel_reason = null,
    waiting = false
where id = %(run_id)s and status in ('failed', 'skipped', 'cancelled')

-- statement: intervene.STATUS
select status from shiftlock.job_runs where id = %(run_id)s

-- statement: lock.REGISTER_KEY
insert into shiftlock.lock_keys (owner, lock_key) values (%(owner)s, %(lock_key)s) on conflict do nothing

-- statement: lock.HAS_KEY
select exists (select from shiftlock.lock_keys where owner = %(owner)s)

-- statement: lock.REGISTER_JOB
insert into shiftlock.jobs (name, lock_key)
select owner, lock_key from shiftlock.lock_keys where owner = %(owner)s
on conflict do nothing

-- statement: once.HEARTBEAT
update shiftlock.job_runs
set lease_until = clock_timestamp() + %(lease)s, progress = coalesce(%(progress)s, progress)
where id = %(run_id)s and fence = %(fence)s and status = 'running'
returning cancel_reason

-- statement: once.REJOIN
with mine as (
    update shiftlock.job_runs
    set lease_until = clock_timestamp() + %(lease)s,
        backend_pid = %(backend_pid)s, backend_start = %(backend_start)s
    where id = %(run_id)s and fence = %(fence)s and status = 'running'
    returning lock_key
)
select case when not %(row_only)s::boolean then pg_try_advisory_lock(lock_key) end from mine

-- statement: refusal.EXPLAIN
select job.paused_at,
       own.id, own.payload is distinct from %(payload)s::jsonb as other_payload,
       own.status, coalesce(own.skip_reason, own.error_msg) as reason, own.result, own.holder, own.fence,
       own.lease_until, own.next_run, own.next_run > clock_timestamp() + interval '1 minute' as early,
       own.backend_pid, own.backend_start,
       extract(epoch from own.lease_until - clock_timestamp())::float8 as lease_left,
       -- Not known of a pooled holder, and the start is hidden from other roles: such a one counts as alive.
       own.backend_pid is null or exists (
           select from pg_stat_get_activity(own.backend_pid) as backend
           where coalesce(backend.backend_start = own.backend_start, true)
       ) as alive,
       other.id as other_id, other.run_key as other_run_key, other.holder as other_holder, other.fence as other_fence,
       other.backend_pid as other_backend_pid, other.backend_start as other_backend_start,
       other.lease_until > clock_timestamp() as other_leased,
       coalesce(other.tick > %(tick)s::timestamptz, false) as other_newer, job.name as job_name
from shiftlock.jobs job
join shiftlock.lock_keys key on key.owner = %(owner)s
left join shiftlock.job_runs own on own.job_name = job.name and own.run_key = %(run_key)s
left join shiftlock.job_runs other
    on other.lock_key = coalesce(%(own_lock_key)s::bigint, key.lock_key)
    and other.status = 'running' and other.id is distinct from own.id
where job.name = %(job)s

-- statement: rescue.RESCUE
with lost as (
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
      and lease_until <= clock_timestamp()
    returning job_runs.id, job_runs.status
), ended as (
    update shiftlock.job_attempts attempt
    set outcome = 'lost', ended_at = clock_timestamp(), error = %(error)s
    from lost where attempt.run_id = lost.id and attempt.outcome is null
)
select status from lost

-- statement: session.INTRODUCE
select pid, backend_start, (extract(epoch from current_setting('idle_session_timeout')::interval) * 1000)::bigint,
       (select max(number) from shiftlock.migrations)
from pg_stat_get_activity(pg_backend_pid())

-- statement: steps.DONE
select step_key from shiftlock.run_steps where run_id = %(run_id)s and step_key = any(%(keys)s)

-- statement: steps.RECORD
with mine as (
    select id, set_config('idle_in_transaction_session_timeout', %(lease)s, true)
    from shiftlock.job_runs where id = %(run_id)s and fence = %(fence)s and status = 'running' for share
)
insert into shiftlock.run_steps (run_id, step_key, fence)
select mine.id, step_key, %(fence)s from mine, unnest(%(keys)s::text[]) as step_key

-- statement: yielding.SKIP
insert into shiftlock.job_runs as run
    (job_name, run_key, partition, lock_key, tick, trigger, payload, status, skip_reason, next_run, finished_at)
select name, %(run_key)s, %(partition)s, lock_key, %(tick)s, %(trigger)s, %(payload)s, 'skipped', %(reason)s, %(tick)s,
       clock_timestamp()
from shiftlock.jobs where name = %(job)s
on conflict (job_name, run_key) do update
set status = 'skipped', skip_reason = excluded.skip_reason, finished_at = excluded.finished_at
where run.status = 'pending' and run.attempt = 0 and not run.waiting

-- statement: yielding.QUEUE
insert into shiftlock.job_runs as run
    (job_name, run_key, partition, lock_key, tick, trigger, payload, status, next_run, waiting)
select job_name, %(run_key)s, %(partition)s, lock_key, %(tick)s, %(trigger)s, %(payload)s, 'pending',
       coalesce(%(tick)s::timestamptz, clock_timestamp()), true
from shiftlock.job_runs where id = %(other)s
on conflict (job_name, run_key) do update set waiting = true, lock_key = excluded.lock_key
where run.status = 'pending'

-- statement: yielding.NEXT_IN_LINE
select run_key, partition, tick, trigger, payload from shiftlock.job_runs
where lock_key = %(lock_key)s and status = 'pending' and waiting
