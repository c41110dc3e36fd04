"""What a name on the command line stands for in the ledger."""

import re
from datetime import UTC, datetime

import psycopg

from handlers.declaration.catalogue import UnknownJob
from handlers.schedule import SCHEDULE
from ops.instant import read_instant
from ops.ledger import find_by_id, find_by_key, registered_jobs
from ops.refused import Refused
from ops.wording import minute


def known_job(name: str, ledger: psycopg.Connection) -> str:
    """The name of a job that is in the schedule, or once was. Raises UnknownJob."""
    known = {job.name for job in SCHEDULE}
    if name not in known:
        known.update(registered_jobs(ledger))
    if name not in known:
        raise UnknownJob(name, tuple(known))
    return name


def known_run(given: str, ledger: psycopg.Connection) -> int:
    """The id of the run that an id, JOB@TICK or JOB@KEY names. Raises Refused and UnknownJob."""
    job, at, key = given.partition("@")
    if job and at and key:
        found = find_by_key(ledger, known_job(job, ledger), _run_key(key))
        hint = f"`jobs runs {job}` lists its runs"
    elif re.fullmatch("[0-9]+", given):
        found = find_by_id(ledger, int(given))
        hint = "`jobs runs` lists the newest"
    else:
        raise Refused(f"run {given!r}: allowed is an id such as 12, or JOB@TICK such as {_example()}")
    if found is None:
        raise Refused(f"there is no run {given} in the ledger: {hint}")
    return found


def _run_key(given: str) -> str:
    """A tick's key however its time is written; any other key as it is."""
    moment = read_instant(given)
    return given if moment is None else minute(moment)


def _example() -> str:
    job = next(iter(SCHEDULE))
    tick = job.schedule.previous(datetime.now(UTC))
    return f"{job.name}@{'2026-11-29T02:00Z' if tick is None else minute(tick)}"
