-- What a run with a fault is judged by: its effects, and every change of its state.
create schema faults;

create table faults.effect (
    id      bigint generated always as identity primary key,
    job     text not null,
    name    text not null,
    attempt integer not null,
    pid     integer not null,
    filler  text not null
);
create table faults.account (job text primary key, total integer not null);

create table faults.move (
    id        bigint generated always as identity primary key,
    job       text not null,
    run_key   text not null,
    old       text,
    new       text,
    old_fence bigint,
    new_fence bigint,
    written   xid8 not null default pg_current_xact_id()
);

-- Heartbeats are no moves; any write to a run that has ended is one, also when it changes nothing.
create function faults.note_move() returns trigger language plpgsql security definer as $$
begin
    if tg_op = 'INSERT' then
        insert into faults.move (job, run_key, new, new_fence)
        values (new.job_name, new.run_key, new.status, new.fence);
    elsif tg_op = 'DELETE' then
        insert into faults.move (job, run_key, old, old_fence)
        values (old.job_name, old.run_key, old.status, old.fence);
    elsif old.status <> new.status or old.fence is distinct from new.fence or old.finished_at is not null then
        insert into faults.move (job, run_key, old, new, old_fence, new_fence)
        values (new.job_name, new.run_key, old.status, new.status, old.fence, new.fence);
    end if;
    return null;
end $$;
create trigger note_move after insert or update or delete on shiftlock.job_runs
for each row execute function faults.note_move();
