"""What `jobs doctor` asks of the ledger: is it set up for this code and these jobs?"""

import psycopg

from handlers.declaration.catalogue import Catalogue
from handlers.guard.lock import lock_key
from handlers.guard.migrate import APPLIED, shipped
from handlers.guard.roles import lacking, unsettled
from ops.finding import Finding
from ops.ledger import registered_jobs
from ops.wording import second

MIGRATE = "run `jobs migrate`"

PAUSED = "select name, paused_at from shiftlock.jobs where paused_at is not null order by name"

LOCK_KEYS = """
select owner, key.lock_key, job.lock_key from shiftlock.lock_keys key left join shiftlock.jobs job on job.name = owner
order by owner
"""


def schema(connection: psycopg.Connection) -> Finding:
    """Whether the ledger has every migration that this code ships with. Raises psycopg.Error."""
    try:
        applied = {number for (number,) in connection.execute(APPLIED)}
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return Finding("schema", "there is no ledger in this database", MIGRATE)
    missing = [name for number, name in shipped().items() if number not in applied]
    if missing:
        return Finding("schema", f"older than this code: {', '.join(missing)} missing", MIGRATE)
    newest, known = max(applied), max(shipped())
    newer = f", newer than this code, which knows {known}" if newest > known else ""
    return Finding("schema", f"at migration {newest}{newer}")


def registered(connection: psycopg.Connection, schedule: Catalogue) -> Finding:
    """Whether the ledger knows every job of the schedule; those it knows besides are history. Raises psycopg.Error."""
    declared, known = [job.name for job in schedule], registered_jobs(connection)
    missing = [name for name in declared if name not in known]
    gone = sorted(set(known).difference(declared))
    besides = f"; no longer in the schedule: {', '.join(gone)}" if gone else ""
    if missing:
        return Finding("jobs", f"not registered: {', '.join(missing)}{besides}", MIGRATE)
    return Finding("jobs", f"all {len(declared)} of the schedule are registered{besides}")


def paused(connection: psycopg.Connection) -> Finding:
    """Which jobs a person has paused, and since when; that is no fault. Raises psycopg.Error."""
    found = [f"{name} since {second(since)} UTC" for name, since in connection.execute(PAUSED)]
    if not found:
        return Finding("paused jobs", "none")
    return Finding("paused jobs", f"{', '.join(found)}; `jobs resume JOB` ends that")


def lock_keys(connection: psycopg.Connection) -> Finding:
    """Whether every stored lock key is the one that its owner's name derives to. Raises psycopg.Error."""
    rows = connection.execute(LOCK_KEYS).fetchall()
    wrong = [
        f"{owner} has {other}, its name gives {lock_key(owner)}"
        for owner, *stored in rows
        for other in {key for key in stored if key is not None and key != lock_key(owner)}
    ]
    if not wrong:
        return Finding("lock keys", f"all {len(rows)} are as derived")
    return Finding(
        "lock keys", "; ".join(wrong), "somebody has changed them: put them back while no run of these goes on"
    )


def roles(connection: psycopg.Connection) -> Finding:
    """Whether jobs and people may do what they have to, each as their own user. Raises psycopg.Error."""
    if missing := lacking(connection):
        return Finding("roles", "; ".join(missing), "run `jobs migrate` as the ledger's owner")
    # One user for everything is no fault.
    notes = list(unsettled(connection))
    return Finding("roles", "; ".join(notes) if notes else "runner and reader may do what they have to, and no more")
