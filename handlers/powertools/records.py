"""The statements on idempotency records: each one round trip, a compare-and-swap on the holder, on database time."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from handlers.powertools.link import Link

# A record that is in the way is read first, so that a duplicate takes no lock and writes nothing. What was read may be
# stale in a race: whether the record was taken is said by the insert alone.
# For each record taken two old ones may go, so that they cannot pile up. They are locked after our own row and never
# waited for, so that two executions cannot wait for each other; statement_timestamp() because a scan of the index
# needs a time that stands still.
TAKE = """
with prior as materialized (
    select status, extract(epoch from live_until - clock_timestamp())::float8 as seconds_left, payload_hash, response
    from shiftlock.idempotency_records
    where key = %(key)s and live_until > clock_timestamp() and holder <> %(holder)s
), taken as (
    insert into shiftlock.idempotency_records as record (key, status, holder, live_until, payload_hash)
    select %(key)s, 'INPROGRESS', %(holder)s, clock_timestamp() + %(lease)s, %(payload_hash)s
    where not exists (select from prior)
    on conflict (key) do update set
        status = 'INPROGRESS', holder = excluded.holder, live_until = clock_timestamp() + %(lease)s,
        payload_hash = excluded.payload_hash, response = null, started_at = clock_timestamp()
    where record.live_until <= clock_timestamp() or record.holder = excluded.holder
    returning key
), pruned as (
    delete from shiftlock.idempotency_records where key in (
        select key from shiftlock.idempotency_records
        where (select count(*) from taken) = 1
          and live_until < statement_timestamp() and key <> %(key)s
        order by live_until limit 2 for update skip locked
    )
)
select exists (select from taken), prior.* from (select) as one left join prior on true
"""

READ = """
select status, extract(epoch from live_until - clock_timestamp())::float8, payload_hash, response
from shiftlock.idempotency_records
where key = %(key)s and live_until > clock_timestamp()
"""

# Whoever knows no holder resumes an execution that another process began (a replay of a durable function).
# Where there is no record at all, nobody else's answer is lost by writing one.
COMPLETE = """
insert into shiftlock.idempotency_records as record (key, status, holder, live_until, payload_hash, response)
values (%(key)s, 'COMPLETED', coalesce(%(holder)s::uuid, gen_random_uuid()),
        clock_timestamp() + %(keep)s, %(payload_hash)s, %(response)s)
on conflict (key) do update set
    status = 'COMPLETED', live_until = clock_timestamp() + %(keep)s,
    payload_hash = excluded.payload_hash, response = excluded.response
where record.holder = %(holder)s::uuid or (%(holder)s::uuid is null and record.status = 'INPROGRESS')
"""

ABANDON = """
delete from shiftlock.idempotency_records
where key = %(key)s and (holder = %(holder)s::uuid or (%(holder)s::uuid is null and status = 'INPROGRESS'))
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A live record. seconds_left: until its time is over, on the database's clock; response: JSON text."""

    status: Literal["INPROGRESS", "COMPLETED"]
    seconds_left: float
    payload_hash: str
    response: str | None


def take(link: Link, key: str, holder: UUID, *, lease: timedelta, payload_hash: str) -> tuple[bool, Record | None]:
    """Whether the key is now this holder's for the lease; if not, the record in the way, as far as it was seen.

    Doing it again with the same holder changes nothing but the lease.
    """
    facts = {"key": key, "holder": holder, "lease": lease, "payload_hash": payload_hash}
    row = link.execute(TAKE, facts).fetchone()
    if row is None or row[1] is None:
        return row is not None and row[0], None
    return row[0], Record(*row[1:])


def read(link: Link, key: str) -> Record | None:
    """The live record of the key."""
    row = link.execute(READ, {"key": key}).fetchone()
    return None if row is None else Record(*row)


def complete(link: Link, key: str, holder: UUID | None, *, keep: timedelta, payload_hash: str, response: str) -> bool:
    """Store the response (JSON text) for as long as `keep`; False when another execution has taken the key."""
    facts = {"key": key, "holder": holder, "keep": keep, "payload_hash": payload_hash, "response": response}
    return link.execute(COMPLETE, facts).rowcount == 1


def abandon(link: Link, key: str, holder: UUID | None) -> bool:
    """Free the key for the next execution; False when it wasn't this holder's any more."""
    return link.execute(ABANDON, {"key": key, "holder": holder}).rowcount == 1
