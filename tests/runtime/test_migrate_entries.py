"""The two tasks of a deploy: what they print, and the exit codes that the deploy goes by."""

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from handlers.guard import roles, users
from handlers.guard.migrate import shipped
from handlers.runtime import migrate_entry, users_entry
from handlers.runtime.migrate_entry import EXIT_NOT_LET_IN
from handlers.schedule import SCHEDULE
from tests.guard.logins import login
from tests.runtime.sandbox import environment

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def new_url(database_url: str, database: psycopg.Connection) -> str:
    """A database without a ledger."""
    database.execute("drop schema shiftlock cascade")
    return database_url


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch, database: psycopg.Connection) -> Iterator[tuple[str, ...]]:
    """Migrator, runner and reader under names that the server does not know."""
    names = tuple(f"{name}_{uuid4().hex[:12]}" for name in ("migrator", "runner", "reader"))
    monkeypatch.setattr(users, "MIGRATOR", names[0])
    monkeypatch.setattr(users, "USERS", names)
    monkeypatch.setattr(roles, "PRIVILEGES", {names[1]: roles.RUNNER_MAY, names[2]: roles.READER_MAY})
    yield names
    known = database.execute("select rolname from pg_roles where rolname = any(%s)", [list(names)]).fetchall()
    for (name,) in known:
        user = sql.Identifier(name)
        database.execute(sql.SQL("drop owned by {user} cascade; drop role {user}").format(user=user))


def migrate(url: str) -> int:
    return migrate_entry.main(environment(url))


def test_a_database_that_does_not_know_the_user_is_told_apart_from_one_that_is_away(
    new_url: str, unknown: tuple[str, ...], capsys: Capture
) -> None:
    assert migrate(make_conninfo(new_url, user=unknown[0])) == EXIT_NOT_LET_IN
    assert f'role "{unknown[0]}" does not exist' in capsys.readouterr().err
    assert migrate(make_conninfo(new_url, dbname="elsewhere")) == 69
    assert migrate(make_conninfo(new_url, host="127.0.0.1", port=1)) == 69


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ('FATAL:  PAM authentication failed for user "shiftlock_migrator"', EXIT_NOT_LET_IN),
        ('FATAL:  password authentication failed for user "shiftlock_migrator"', EXIT_NOT_LET_IN),
        ('FATAL:  role "shiftlock_migrator" is not permitted to log in', EXIT_NOT_LET_IN),
        ('FATAL:  database "shiftlock" does not exist', 69),
        ("timeout expired", 69),
    ],
)
def test_what_servers_say_of_a_user_they_do_not_know_is_known(said: str, code: int) -> None:
    assert migrate_entry.exit_code_of(f"database shiftlock at db:5432 unavailable: {said}") == code


def test_a_user_that_may_create_no_schema_is_not_let_in_either(new_url: str, capsys: Capture) -> None:
    with login(new_url) as url:
        assert migrate(url) == EXIT_NOT_LET_IN
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("migrate: the database does not allow it: permission denied for database ")
    assert line.endswith("; nothing was changed")


def test_after_the_users_are_made_the_migrations_run_and_twice_does_no_harm(
    new_url: str, unknown: tuple[str, ...], capsys: Capture
) -> None:
    assert users_entry.main(environment(new_url)) == 0
    assert capsys.readouterr().out.startswith(f"users: created {unknown[0]}, created {unknown[1]}, ")
    as_migrator = make_conninfo(new_url, user=unknown[0])
    assert migrate(as_migrator) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (
        f"migrate: applied {', '.join(shipped().values())}, registered {len(SCHEDULE)} new jobs of {len(SCHEDULE)}\n",
        "",
    )
    assert migrate(as_migrator) == 0
    assert users_entry.main(environment(new_url)) == 0
    assert capsys.readouterr().out.endswith("users: all are as they should be\n")


def test_a_migrator_that_may_create_no_roles_says_so_in_a_line_each_and_succeeds(
    new_url: str, unknown: tuple[str, ...], database: psycopg.Connection, capsys: Capture
) -> None:
    with login(new_url) as url, closing(psycopg.connect(url)) as connection:
        user, name = sql.Identifier(connection.info.user), sql.Identifier(connection.info.dbname)
        database.execute(sql.SQL("grant create on database {} to {}").format(name, user))
        assert migrate(url) == 0
        lines = capsys.readouterr().err.splitlines()
    assert [line.split(" is not there")[0] for line in lines] == [f"migrate: role {name}" for name in unknown[1:]]


def test_users_are_not_made_by_somebody_who_may_not(new_url: str, unknown: tuple[str, ...], capsys: Capture) -> None:
    with login(new_url) as url:
        assert users_entry.main(environment(url)) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("users: the database refused: permission denied to create role")
    assert users_entry.main(environment(make_conninfo(new_url, host="127.0.0.1", port=1))) == 69
    assert users_entry.main({}) == 2
