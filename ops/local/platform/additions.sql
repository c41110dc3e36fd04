-- What came after the first load of somebody's data: run at each load, so every statement bears what is there already.

-- How far the counts of a restaurant's point-of-sale system (POS) have been taken over into platform.stock. To take
-- over all of them again, delete the restaurant's row.
create sequence if not exists platform.pos_revision;

create table if not exists platform.pos_sync (
    restaurant_id integer primary key references platform.restaurants,
    revision bigint not null default nextval('platform.pos_revision'),
    cursor text,
    etag text,
    changes bigint not null default 0,
    synced_at timestamptz
);

comment on column platform.pos_sync.revision is 'another one after each answer that was taken over, never one twice';
comment on column platform.pos_sync.cursor is 'behind the last change that was taken over; null before the first';
comment on column platform.pos_sync.etag is 'of the last answer to a request with this cursor; null when there was none';
comment on column platform.pos_sync.changes is 'how many were taken over since the row was made';
comment on column platform.pos_sync.synced_at is 'when there was nothing more to take over';
