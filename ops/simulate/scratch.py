"""A database that lives in virtual time: an empty ledger in a database of its own, which is dropped at the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.pq import ExecStatus

from handlers.guard.migrate import migrate

CREATE = sql.SQL("create database {name} template template0 strategy file_copy")
# Whatever says clock_timestamp() means ours from here on, the ledger's column defaults included: where pg_catalog is
# named, it is searched in its turn and not first (PostgreSQL manual, "The System Catalog Schema").
TURN = sql.SQL("alter database {name} set search_path = virtual, pg_catalog")
# A handful of statements a hundred thousand times: to plan each of them anew takes longer than to carry it out.
PLAN_ONCE = sql.SQL("alter database {name} set plan_cache_mode = force_generic_plan")
DROP = sql.SQL("drop database {name} with (force)")

# A sequence is seen by every session at once, belongs to no transaction and leaves no dead rows behind. What it was
# last set to is read by an expression, which PostgreSQL puts into each statement in place of the call.
VIRTUAL_TIME = """
create schema virtual;
create sequence virtual.clock;
create function virtual.clock_timestamp() returns timestamptz language sql volatile as $$
    select timestamptz 'epoch' + pg_sequence_last_value('virtual.clock') * interval '1 microsecond'
$$
"""
SET_CLOCK_NAME = b"set_clock"
SET_CLOCK = b"select setval('virtual.clock', $1)"

# Sessions keep the plans of statements that they repeat. Those made for an empty ledger read all of a large one.
REPLAN = "analyze shiftlock.job_runs, shiftlock.job_attempts"

# PostgreSQL reads checks, and the condition of a trigger, anew from their stored text for each statement: a quarter of
# its time here. They decide nothing; they only say when a statement is wrong.
CHECKS = """
select conrelid::regclass::text, conname from pg_constraint
where contype = 'c' and connamespace = 'shiftlock'::regnamespace
"""
DROP_CHECK = sql.SQL("alter table {table} drop constraint {name}")
NO_TRIGGERS = "alter table shiftlock.job_runs disable trigger user"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class VirtualClock:
    """The time of a scratch database, for all of its sessions. It stands still until it is set.

    The database is told by `strike`: not everything that happens concerns it.
    """

    def __init__(self, connection: psycopg.Connection, now: datetime) -> None:
        # By libpq's own calls: this is said twice for each run, and a cursor would take longer than the database does.
        self._session = connection.pgconn
        self._session.prepare(SET_CLOCK_NAME, SET_CLOCK)
        self._told: datetime | None = None
        self.now = now
        self.strike()

    def strike(self) -> None:
        """Let `now` (aware UTC) be the time of the database, be it earlier or later than what it had."""
        if self._told != self.now:
            result = self._session.exec_prepared(SET_CLOCK_NAME, [b"%d" % ((self.now - EPOCH) // MICROSECOND)])
            if result.status != ExecStatus.TUPLES_OK:
                raise psycopg.OperationalError(result.get_error_message())
            self._told = self.now


@dataclass(frozen=True, slots=True)
class Scratch:
    """A scratch database: where it is, an autocommit connection to it, and its clock."""

    url: str
    connection: psycopg.Connection
    clock: VirtualClock

    def replan(self) -> None:
        """Let all sessions find new ways to what the ledger holds by now."""
        self.connection.execute(REPLAN)


@contextmanager
def scratch_database(server_url: str, now: datetime, *, checked: bool = True) -> Iterator[Scratch]:
    """Make one on the server, at virtual time `now`. The role must be a superuser. Raises psycopg.Error.

    checked: the ledger refuses what is no legal row or move, as it does in production; else it saves the time.
    """
    name = f"shiftlock_simulation_{uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(CREATE.format(name=sql.Identifier(name)))
        try:
            for statement in (TURN, PLAN_ONCE):
                server.execute(statement.format(name=sql.Identifier(name)))
            url = make_conninfo(server_url, dbname=name)
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(VIRTUAL_TIME)
                clock = VirtualClock(connection, now)
                migrate(connection)
                if not checked:
                    _drop_checks(connection)
                yield Scratch(url, connection, clock)
        finally:
            server.execute(DROP.format(name=sql.Identifier(name)))


def _drop_checks(connection: psycopg.Connection) -> None:
    connection.execute(NO_TRIGGERS)
    for table, name in connection.execute(CHECKS).fetchall():
        place = sql.Identifier(*table.split("."))
        connection.execute(DROP_CHECK.format(table=place, name=sql.Identifier(name)))
