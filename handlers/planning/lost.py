"""Runs whose holder has fallen silent are taken back, each as its job's `on_lost` says."""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row

from handlers.declaration.catalogue import Catalogue
from handlers.guard.rescue import LostRun, rescue

LOST = """
select job_name as job, id as run_id, fence, backend_pid, backend_start, holder from shiftlock.job_runs
where status = 'running' and lease_until <= clock_timestamp() order by lease_until limit 100
for update skip locked -- one that somebody else is at must not hold up all others
"""


@dataclass(frozen=True, slots=True)
class Lost:
    """A run that was taken from a silent holder, and the state it is in now."""

    job: str
    run_id: int
    status: str
    holder: str | None


def lost_runs(connection: psycopg.Connection) -> list[LostRun]:
    """Running runs whose lease has ended, at most 100, the longest lost first."""
    return connection.cursor(row_factory=class_row(LostRun)).execute(LOST).fetchall()


def take_back(connection: psycopg.Connection, catalogue: Catalogue, lost_budget: int) -> Iterator[Lost]:
    """Take lost runs from their holders, and tell of each that was. lost_budget: losses before a run has failed."""
    policies = {job.name: job.on_lost for job in catalogue}
    for run in lost_runs(connection):
        # Nobody can start a job that has left the table: a person decides.
        status = rescue(connection, run, on_lost=policies.get(run.job, "hold"), lost_budget=lost_budget)
        if status is not None:
            yield Lost(run.job, run.run_id, status, run.holder)
