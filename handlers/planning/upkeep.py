"""The ledger is kept in step with the job table: every job has its row, and every tick of the coming hour."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.guard.lock import register
from handlers.planning import rows
from handlers.planning.due import without_reason
from handlers.planning.misfire import Skip
from handlers.planning.missing import missing
from handlers.planning.superseded import left_behind


@dataclass(frozen=True, slots=True)
class Planned:
    """How many rows are new, and what came of the planning.

    behind: the jobs of which not all that was missed has its row yet. superseded: the rows that a change of the table
    has superseded, each with its job; they are still to be skipped.
    """

    new: int
    behind: frozenset[str]
    superseded: tuple[tuple[str, Skip], ...]


def registered(connection: psycopg.Connection, catalogue: Catalogue) -> dict[str, rows.Registered]:
    """What the ledger knows of all jobs of the table, and of others that it has rows ahead for; new jobs get theirs."""
    names = [job.name for job in catalogue]
    known = rows.registered(connection, names)
    if not known.keys() >= set(names):
        register(connection, [name for name in names if name not in known])
        known = rows.registered(connection, names)
    rows.see(connection, names)
    return known


def plan(
    connection: psycopg.Connection, jobs: Sequence[Job], known: dict[str, rows.Registered], now: datetime
) -> Planned:
    """Plan what is missing. jobs: those that have a schedule here."""
    found = missing(jobs, known, now)
    written = rows.plan(connection, found.rows) if found.rows else 0
    if found.until:
        rows.planned(connection, found.until)
    removed = list(known.keys() - {job.name for job in jobs})
    superseded: tuple[tuple[str, Skip], ...] = ()
    if found.changed or removed or found.new:
        idle = without_reason(connection, changed=found.changed, removed=removed, new=found.new)
        superseded = tuple(left_behind(jobs, idle, new=found.new))
    if removed:
        rows.forget(connection, removed)
    return Planned(written, frozenset(name for name, (_, end) in found.until.items() if end < now), superseded)
