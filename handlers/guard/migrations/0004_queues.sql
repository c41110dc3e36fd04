-- Queues: a message rings for a run that the ledger holds, and a run may have children.

alter table shiftlock.job_runs
    -- The run that has sent this one out as a part of its work. No foreign key: history is pruned by age alone.
    add column parent_id bigint,
    -- Set while the run waits for its children: the share of them that may fail.
    add column may_fail double precision check (may_fail between 0 and 1),
    -- Up to then a message is on its way for the run and nobody else needs to ring. Null: none is.
    add column message_until timestamptz,
    -- Ended badly without a failed task or call that AWS would tell of: the watchdog tells, and clears this.
    add column untold boolean not null default false,
    -- How many runs in a row have sent each other, so that a circle of them ends.
    add column hops smallint not null default 0;

-- Which children are still to come, which have failed: by parent, however many there are.
create index job_runs_children on shiftlock.job_runs (parent_id, status) where parent_id is not null;
create index job_runs_untold on shiftlock.job_runs (id) where untold;
create index job_runs_parents on shiftlock.job_runs (id) where may_fail is not null and status = 'running';

-- Messages to send, written in the transaction of the work that they are about. A relay sends them and deletes the rows:
-- what commits is sent, perhaps twice; what does not commit never was.
create table shiftlock.outbox (
    id         bigint generated always as identity primary key,
    run_id     bigint not null references shiftlock.job_runs (id) on delete cascade,
    job_name   text not null,
    send_after timestamptz not null default clock_timestamp(),
    created_at timestamptz not null default clock_timestamp()
);
create index outbox_due on shiftlock.outbox (job_name, id);
create index outbox_of_run on shiftlock.outbox (run_id);
-- Runs that wait for their partition to be free, without a message of their own.
create index job_runs_parked on shiftlock.job_runs (lock_key, id)
where status = 'pending' and trigger = 'queue' and message_until is null;
