"""Bring the ledger's schema up to date, one numbered file after the other."""

from importlib.resources import files

import psycopg

from handlers.guard.roles import settle

# Any number will do, as long as nothing else uses it: the first 8 bytes of sha256("shiftlock migrations").
MIGRATION_LOCK = int.from_bytes(bytes.fromhex("d73d6bb45076ec64"), signed=True)

LOCK = "select pg_advisory_xact_lock(%s)"
# Asked for first: `if not exists` wants the leave to create also where there is nothing left to be created.
HISTORY = "select to_regnamespace('shiftlock') is not null, to_regclass('shiftlock.migrations') is not null"
CREATE_SCHEMA = "create schema shiftlock"
CREATE_HISTORY = """
create table shiftlock.migrations (
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
    """Apply what is missing and settle who may do what, all in one transaction; the names of the files applied.

    Two processes may call this at the same time: the second waits for the first, then finds nothing to do.
    """
    with connection.transaction():
        connection.execute(LOCK, (MIGRATION_LOCK,))
        _prepare_history(connection)
        applied = {number for (number,) in connection.execute(APPLIED)}
        missing = {number: name for number, name in shipped().items() if number not in applied}
        for number, name in missing.items():
            connection.execute(files(__package__).joinpath("migrations", name).read_bytes())
            connection.execute(RECORD, (number, name))
        settle(connection)
    return list(missing.values())


def _prepare_history(connection: psycopg.Connection) -> None:
    row = connection.execute(HISTORY).fetchone()
    has_schema, has_history = row or (False, False)
    if not has_schema:
        connection.execute(CREATE_SCHEMA)
    if not has_history:
        connection.execute(CREATE_HISTORY)
