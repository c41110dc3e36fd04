-- Planning ahead: what is due is a row before its time, so that nothing is missed unseen.

alter table shiftlock.jobs
    -- The schedule that the rows ahead were planned by; another one in the job table is a changed schedule.
    add column schedule text,
    -- Every tick up to this time has its row. Null until the first planning: nothing before that is missed.
    add column planned_until timestamptz,
    -- Since when that schedule has counted: a row of before may be no tick of it.
    add column scheduled_since timestamptz,
    -- When a scheduler last had the job in its table. Tables of two versions may be at work beside each other.
    add column seen_at timestamptz;

-- When somebody was last sent to start the run: of many schedulers that see it due, one sends.
alter table shiftlock.job_runs add column called_at timestamptz;

-- A task that has lost its run is looked for while it may still go on.
create index job_attempts_lost on shiftlock.job_attempts (ended_at) where outcome = 'lost';
