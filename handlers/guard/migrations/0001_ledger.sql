-- The ledger: every run of every job is one row that ends in a named state.

-- Derived from the owner's name once, then only read: two owners that share a key would lock each other out.
create table shiftlock.lock_keys (
    owner    text primary key check (owner <> ''), -- a job's name, or `job/partition`
    lock_key bigint not null constraint one_owner_per_lock_key unique
);

create table shiftlock.jobs (
    name          text primary key check (name ~ '^[a-z][a-z0-9]*(-[a-z0-9]+)*$' and length(name) <= 40),
    lock_key      bigint not null unique references shiftlock.lock_keys (lock_key),
    registered_at timestamptz not null default clock_timestamp(),
    paused_at     timestamptz
);

-- Grows with every claim of any run, so a later claim always has the larger number.
create sequence shiftlock.fence as bigint;

create table shiftlock.job_runs (
    id             bigint generated always as identity primary key,
    job_name       text not null references shiftlock.jobs (name),
    -- What makes two deliveries the same run: the tick's UTC minute, a message's key, a manual request's id.
    run_key        text not null check (run_key <> ''),
    partition      text,
    lock_key       bigint not null,
    tick           timestamptz,
    trigger        text not null,
    payload        jsonb not null default '{}',
    status         text not null check
                   (status in ('pending', 'running', 'succeeded', 'failed', 'unknown', 'skipped', 'cancelled')),
    skip_reason    text check
                   (skip_reason in ('overlap', 'window', 'cap', 'dst', 'paused', 'superseded', 'too_late')),
    -- Due is: next_run <= now() and status = 'pending'.
    next_run       timestamptz not null default clock_timestamp(),
    -- Held up by another run of its lock key, with the promise to run after it.
    waiting        boolean not null default false,
    last_run       timestamptz,
    attempt        integer not null default 0,
    infra_failures integer not null default 0,
    fence          bigint,
    holder         text,
    backend_pid    integer,
    backend_start  timestamptz,
    lease_until    timestamptz,
    progress       jsonb,
    checkpoint     jsonb,
    result         jsonb,
    error_msg      text,
    -- Why somebody wants the run to end; the holder learns of it with its next heartbeat.
    cancel_reason  text,
    created_at     timestamptz not null default clock_timestamp(),
    finished_at    timestamptz,
    constraint one_row_per_run unique (job_name, run_key),
    constraint skipped_with_reason check ((status = 'skipped') = (skip_reason is not null)),
    constraint running_under_lease check
        (status <> 'running' or (fence is not null and holder is not null and lease_until is not null)),
    constraint ended_at_a_time check
        ((finished_at is not null) = (status in ('succeeded', 'failed', 'skipped', 'cancelled')))
) with (fillfactor = 80); -- room on the page for heartbeats, which then touch no index

-- Overlap is impossible by the row alone, also where no session lock can be held (behind a transaction pooler).
create unique index one_running_per_lock_key on shiftlock.job_runs (lock_key) where status = 'running';
-- Never a line of runs: one may wait for the one that goes on.
create unique index one_waiting_per_lock_key on shiftlock.job_runs (lock_key) where status = 'pending' and waiting;
create index job_runs_unknown on shiftlock.job_runs (id) where status = 'unknown';
create index job_runs_due on shiftlock.job_runs (next_run) where status = 'pending';
create index job_runs_recent on shiftlock.job_runs (job_name, id desc);

create function shiftlock.refuse_move() returns trigger language plpgsql as $$
begin
    raise exception 'run % cannot go from % to %', old.id, old.status, new.status using errcode = 'check_violation';
end $$;

-- The moves of docs/states.md. The condition is evaluated without a function call when the move is allowed.
create trigger legal_moves before update of status on shiftlock.job_runs for each row
when (old.status <> new.status and (old.status, new.status) not in (
    ('pending', 'running'), ('pending', 'skipped'), ('pending', 'cancelled'), ('pending', 'failed'),
    ('running', 'succeeded'), ('running', 'failed'), ('running', 'unknown'), ('running', 'pending'),
    ('running', 'cancelled'),
    ('unknown', 'succeeded'), ('unknown', 'failed'), ('unknown', 'pending'),
    ('failed', 'pending'), ('skipped', 'pending'), ('cancelled', 'pending')
))
execute function shiftlock.refuse_move();

create table shiftlock.job_attempts (
    run_id     bigint not null references shiftlock.job_runs (id) on delete cascade,
    attempt    integer not null,
    fence      bigint not null,
    holder     text not null,
    compute    text not null,
    outcome    text check (outcome in
               ('succeeded', 'failed', 'timed_out', 'lost', 'interrupted', 'cancelled', 'start_failed', 'fenced')),
    started_at timestamptz not null default clock_timestamp(),
    ended_at   timestamptz,
    error      text,
    log_link   text,
    primary key (run_id, attempt),
    constraint ended_with_outcome check ((outcome is null) = (ended_at is null))
);

-- One row for each effect a run has had: written in the transaction of the effect itself.
create table shiftlock.run_steps (
    run_id   bigint not null references shiftlock.job_runs (id) on delete cascade,
    step_key text not null check (step_key <> ''),
    fence    bigint not null,
    done_at  timestamptz not null default clock_timestamp(),
    primary key (run_id, step_key)
);
