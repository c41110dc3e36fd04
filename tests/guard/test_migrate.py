"""The ledger's migrations: in order, once, whoever else is at it."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import psycopg
import pytest

from handlers.guard import migrate as migrations
from handlers.guard.migrate import migrate, shipped

FORK = multiprocessing.get_context("fork")
IN_TURN = "select number, name from shiftlock.migrations order by applied_at"


@pytest.fixture
def empty(database: psycopg.Connection) -> psycopg.Connection:
    """A database without a ledger."""
    database.execute("drop schema shiftlock cascade")
    return database


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, str], None]:
    """Ship a migration of our own making, beside the real ones."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    for name in shipped().values():
        (folder / name).write_bytes((Path(migrations.__file__).parent / "migrations" / name).read_bytes())
    monkeypatch.setattr(migrations, "files", lambda package: tmp_path)

    def release(number: int, statement: str) -> None:
        (folder / f"{number:04}_later.sql").write_text(statement)

    return release


def migrate_at(url: str) -> list[str]:
    """Migrate over a connection of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        return migrate(connection)


def test_a_database_without_a_ledger_gets_every_shipped_migration_in_order(
    every_database: psycopg.Connection,
) -> None:
    every_database.execute("drop schema shiftlock cascade")
    assert migrate(every_database) == list(shipped().values())
    assert every_database.execute(IN_TURN).fetchall() == list(shipped().items())


def test_a_second_run_applies_nothing(database: psycopg.Connection) -> None:
    before = database.execute("select * from shiftlock.migrations").fetchall()
    assert migrate(database) == []
    assert database.execute("select * from shiftlock.migrations").fetchall() == before


def test_shipped_migrations_are_numbered_from_1_without_a_gap() -> None:
    assert list(shipped()) == list(range(1, len(shipped()) + 1))


def test_later_migrations_are_applied_by_number_and_in_that_order(
    database: psycopg.Connection, released: Callable[[int, str], None]
) -> None:
    released(1010, "alter table shiftlock.later add column at_last integer")
    released(1009, "create table shiftlock.later ()")
    assert migrate(database) == ["1009_later.sql", "1010_later.sql"]
    assert database.execute(IN_TURN).fetchall()[-2:] == [(1009, "1009_later.sql"), (1010, "1010_later.sql")]


def test_a_migration_that_fails_leaves_nothing_of_itself_or_of_those_before_it(
    database: psycopg.Connection, released: Callable[[int, str], None]
) -> None:
    before = database.execute(IN_TURN).fetchall()
    released(1009, "create table shiftlock.later ()")
    released(1010, "create table shiftlock.latest (); select 1/0")
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(database)
    left = database.execute("select to_regclass('shiftlock.later'), to_regclass('shiftlock.latest')")
    assert left.fetchone() == (None, None)
    assert database.execute(IN_TURN).fetchall() == before


def test_of_two_processes_at_once_one_migrates_and_the_other_waits_and_finds_nothing_to_do(
    empty: psycopg.Connection, database_url: str
) -> None:
    with psycopg.connect(database_url) as first, ProcessPoolExecutor(2, mp_context=FORK) as pool:
        # Both processes are held at the lock, so that they are let go at the same moment.
        first.execute(migrations.LOCK, (migrations.MIGRATION_LOCK,))
        both = [pool.submit(migrate_at, database_url) for _ in range(2)]
        while empty.execute("select count(*) from pg_locks where not granted").fetchone() != (2,):
            assert not any(process.done() for process in both)
        first.rollback()
        applied = [process.result(timeout=60) for process in both]
    assert sorted(applied) == [[], list(shipped().values())]
    assert empty.execute(IN_TURN).fetchall() == list(shipped().items())


def test_many_processes_at_once_migrate_a_new_database_once(empty: psycopg.Connection, database_url: str) -> None:
    with ProcessPoolExecutor(6, mp_context=FORK) as pool:
        applied = list(pool.map(migrate_at, [database_url] * 6))
    assert sorted(applied) == [[]] * 5 + [list(shipped().values())]
