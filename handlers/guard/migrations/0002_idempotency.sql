-- Idempotency records of Lambda handlers that are no jobs (handlers/powertools): one row says who works on a key, or
-- what came of it. Not rows of job_runs: a run belongs to a registered job and is kept as history, whereas a record has
-- any key, is taken again once its time is over, and leaves nothing behind when the handler raised.

create table shiftlock.idempotency_records (
    key          text primary key check (key <> ''),
    status       text not null check (status in ('INPROGRESS', 'COMPLETED')),
    -- The fence. Chosen by the execution and not drawn from shiftlock.fence: one whose answer was lost with the
    -- connection says the same again and must be known by it.
    holder       uuid not null,
    -- In progress: the end of the lease; after it any execution may take the record. Completed: the end of the answer.
    live_until   timestamptz not null,
    payload_hash text not null,
    -- Python's JSON as it was written, which jsonb would refuse (NaN, \u0000) or rewrite.
    response     text,
    started_at   timestamptz not null default clock_timestamp(),
    constraint completed_with_response check ((status = 'COMPLETED') = (response is not null))
);

-- What has passed its time is found and deleted in bounded steps.
create index idempotency_records_over on shiftlock.idempotency_records (live_until);
