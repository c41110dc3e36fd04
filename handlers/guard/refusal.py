"""Why a run could not be claimed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from handlers.guard.answers import AlreadyDone, Busy, Held, NotDue, OtherPayload, Overlap, Paused, Refusal
from handlers.guard.request import ClaimRequest
from handlers.guard.rescue import LostRun

# `own` is the row of the run itself, `other` the running row that has the same lock key, if there is one.
EXPLAIN = """
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
       coalesce(other.tick > %(tick)s::timestamptz, false) as other_newer,
       other.trigger = 'catch-up' as other_catching_up, job.name as job_name
from shiftlock.jobs job
join shiftlock.lock_keys key on key.owner = %(owner)s
left join shiftlock.job_runs own on own.job_name = job.name and own.run_key = %(run_key)s
left join shiftlock.job_runs other
    on other.lock_key = coalesce(%(own_lock_key)s::bigint, key.lock_key)
    and other.status = 'running' and other.id is distinct from own.id
where job.name = %(job)s
"""


@dataclass(frozen=True, slots=True)
class Retake:
    """A run whose lease has ended stands in the way: the run asked for (`own`) or another of the same job."""

    lost: LostRun
    own: bool


def explain(connection: psycopg.Connection, request: ClaimRequest) -> Refusal | Retake | None:
    """Read the ledger and say what stands in the way; None when nothing does any more."""
    facts = {
        "job": request.job,
        "run_key": request.run_key,
        "owner": request.lock_owner,
        "payload": Jsonb(dict(request.payload)),
        "tick": request.tick,
        "own_lock_key": request.own_lock_key,
    }
    row = connection.cursor(row_factory=dict_row).execute(EXPLAIN, facts).fetchone()
    return None if row is None else refusal(row, manual=request.trigger == "manual")


def refusal(row: Mapping[str, Any], *, manual: bool) -> Refusal | Retake | None:
    """What stands in the way, from one row of EXPLAIN."""
    if row["id"] is not None and row["other_payload"]:
        return OtherPayload(row["id"])
    match row["status"]:
        case "succeeded" | "failed" | "skipped" | "cancelled":
            return AlreadyDone(row["id"], row["status"], row["reason"], row["result"])
        case "unknown":
            return Held(row["id"])
        case "running" if row["lease_left"] > 0:
            return Busy(row["holder"], row["lease_until"], row["lease_left"], row["alive"])
        case "running":
            return Retake(_lost(row, ""), own=True)
    if row["paused_at"] is not None and not manual:
        return Paused(row["paused_at"])
    if row["other_id"] is not None:
        if row["other_leased"]:
            facts = (row["other_" + name] for name in ("id", "run_key", "holder", "newer", "catching_up"))
            return Overlap(*facts)
        return Retake(_lost(row, "other_"), own=False)
    if row["status"] == "pending" and row["early"] and not manual:
        return NotDue(row["next_run"])
    return None


def _lost(row: Mapping[str, Any], prefix: str) -> LostRun:
    facts = (row[prefix + name] for name in ("id", "fence", "backend_pid", "backend_start"))
    return LostRun(row["job_name"], *facts)
