"""Whether every job of the table has run, as a pure function of what the ledger says."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import psycopg

# What each job has reached: one success is enough, whatever came later; else the newest run that is no mere plan.
STANDING = """
select job_name,
       bool_or(status = 'succeeded') as succeeded,
       (array_agg(status order by id desc) filter (where attempt > 0 or status in ('skipped', 'failed')))[1] as newest,
       (array_agg(coalesce(error_msg, skip_reason) order by id desc) filter (where attempt > 0))[1] as error,
       bool_or(status = 'running' or (status = 'pending' and trigger = 'queue')) as goes_on
from shiftlock.job_runs group by job_name
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a job has reached: whether it ever succeeded, else its newest run's status and error.

    goes_on: whether a run of it is under way, or waits for its message.
    """

    job: str
    succeeded: bool
    newest: str | None
    error: str | None
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """settled: each job has succeeded once. stuck: one never will by itself. `because` says which."""

    state: Literal["settled", "waiting", "stuck"]
    because: str


def standings(connection: psycopg.Connection) -> list[Standing]:
    """What each job of the ledger has reached."""
    return [Standing(*row) for row in connection.execute(STANDING)]


def judge(jobs: Sequence[str], reached: Iterable[Standing]) -> Verdict:
    """Whether all jobs are done, some are awaited, or one has failed for good."""
    by_name = {standing.job: standing for standing in reached}
    waiting = [job for job in jobs if job not in by_name or not by_name[job].succeeded]
    for job in waiting:
        standing = by_name.get(job)
        if (
            standing is not None
            and not standing.goes_on
            and standing.newest in ("failed", "unknown", "skipped", "cancelled")
        ):
            reason = f": {standing.error}" if standing.error else ""
            return Verdict("stuck", f"{job} ended {standing.newest}{reason}")
    if waiting:
        return Verdict("waiting", "no success yet of " + ", ".join(waiting))
    return Verdict("settled", f"all {len(jobs)} jobs have succeeded")
