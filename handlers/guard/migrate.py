"""Bring the ledger's schema up to date, one numbered file after the other."""

from importlib.resources import files

import psycopg

# Any number will do, as long as nothing else uses it: the first 8 bytes of sha256("shiftlock migrations").
MIGRATION_LOCK = int.from_bytes(bytes.fromhex("d73d6bb45076ec64"), signed=True)

LOCK = "select pg_advisory_xact_lock(%s)"
CREATE_HISTORY = """
create schema if not exists shiftlock;
create table if not exists shiftlock.migrations (
    number     integer primary key,
    name       text not null,
    applied_at timestamptz not null default clock_timestamp()
)
"""
APPLIED = "select number from shiftlock.migrations"
RECORD = "insert into shiftlock.migrations (number, name) values (%s, %s)"


def shipped() -> dict[int, str]:
    """Number and file name of every migration that comes with this code."""
    names = sorted(entry.name for entry in files(__package__).joinpath("migrations").iterdir())
    return {int(name.partition("_")[0]): name for name in names if name.endswith(".sql")}


def migrate(connection: psycopg.Connection) -> list[str]:
    """Apply what is missing, all in one transaction, and return the names of the files applied.

    Two processes may call this at the same time: the second waits for the first, then finds nothing to do.
    """
    with connection.transaction():
        connection.execute(LOCK, (MIGRATION_LOCK,))
        connection.execute(CREATE_HISTORY)
        applied = {number for (number,) in connection.execute(APPLIED)}
        missing = {number: name for number, name in shipped().items() if number not in applied}
        for number, name in missing.items():
            connection.execute(files(__package__).joinpath("migrations", name).read_bytes())
            connection.execute(RECORD, (number, name))
    return list(missing.values())
