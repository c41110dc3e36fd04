"""Verdicts are carried out: of many schedulers that judged a run alike, one skips it or starts a process for it."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import psycopg

from handlers.planning.misfire import Skip

SKIP = """
update shiftlock.job_runs as run
set status = 'skipped', skip_reason = verdict.reason, finished_at = clock_timestamp()
from unnest(%(runs)s::bigint[], %(reasons)s::text[]) as verdict (run_id, reason)
where run.id = verdict.run_id and run.id in (
    select id from shiftlock.job_runs
    where id = any(%(runs)s) and status = 'pending' and attempt = 0 and not waiting for update skip locked
)
returning run.id
"""

# Compare and swap: of many schedulers one gets the row and starts a process for it. Should that come to nothing, the
# run may be called again after CALL_AGAIN; one that has been claimed since, and is due again, at once.
CALL = """
update shiftlock.job_runs set called_at = clock_timestamp()
where id in (
    select id from shiftlock.job_runs
    where id = any(%(runs)s) and status = 'pending' and next_run <= clock_timestamp()
      and (called_at is null or called_at <= clock_timestamp() - %(again)s or called_at <= last_run
           or called_at > clock_timestamp()) -- the clock was set back
    for update skip locked
)
returning id
"""

CALL_AGAIN = timedelta(seconds=20)  # a child of ours has claimed its run by then, or has come to nothing


def skip(connection: psycopg.Connection, skips: Iterable[Skip]) -> set[int]:
    """Let untouched runs end skipped; the ids of those that were still untouched."""
    verdicts = {one.due.run_id: one.reason for one in skips}
    facts = {"runs": list(verdicts), "reasons": list(verdicts.values())}
    return {run_id for (run_id,) in connection.execute(SKIP, facts)}


def call(connection: psycopg.Connection, runs: Sequence[int], *, again: timedelta = CALL_AGAIN) -> set[int]:
    """Take it upon this process to start these runs; the ids of those that nobody else is about to start.

    again: how long a call counts that has led to no claim.
    """
    return {run_id for (run_id,) in connection.execute(CALL, {"runs": list(runs), "again": again})}
