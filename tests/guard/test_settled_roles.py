"""Each migration settles the roles: it gives and takes what is due, and says what it may not put right."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql

from handlers.guard import roles
from handlers.guard.answers import Claimed
from handlers.guard.migrate import migrate
from handlers.guard.roles import RUNNER, RUNNER_MAY, settle, shortcomings
from tests.guard.holders import ask, guard_on, request
from tests.guard.logins import login


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, every_database: psycopg.Connection) -> Iterator[tuple[str, str]]:
    """The roles under names that this server does not have yet."""
    new = (f"runner_{uuid4().hex}", f"reader_{uuid4().hex}")
    monkeypatch.setattr(roles, "PRIVILEGES", dict(zip(new, roles.PRIVILEGES.values(), strict=True)))
    yield new
    for name in new:
        with suppress(errors.UndefinedObject):
            every_database.execute(sql.SQL("drop owned by {role}; drop role {role}").format(role=sql.Identifier(name)))


def test_a_settled_ledger_is_left_as_it_is(every_database: psycopg.Connection) -> None:
    before = ask(every_database, "select pg_current_xact_id()::text::bigint")
    settle(every_database)
    assert list(shortcomings(every_database)) == []
    # No statement of it was given a transaction id, so none has written.
    assert ask(every_database, "select pg_current_xact_id()::text::bigint") == int(str(before)) + 1


def test_a_user_of_a_settled_ledger_may_run_the_migrations_and_finds_nothing_to_do(
    runner: psycopg.Connection, reader: psycopg.Connection
) -> None:
    assert (migrate(runner), migrate(reader)) == ([], [])


def test_what_somebody_gave_or_took_is_put_right_by_the_next_migration(every_database: psycopg.Connection) -> None:
    every_database.execute(f"grant truncate on shiftlock.job_runs to {RUNNER}".encode())
    every_database.execute(f"grant create on schema shiftlock to {RUNNER}".encode())
    every_database.execute(f"revoke insert on shiftlock.run_steps from {RUNNER}".encode())
    assert list(shortcomings(every_database)) == [
        f"role {RUNNER} lacks insert on table run_steps: run the migrations as the ledger's owner"
    ]
    assert migrate(every_database) == []
    assert list(shortcomings(every_database)) == []
    may = f"""select has_table_privilege('{RUNNER}', 'shiftlock.job_runs', 'truncate'),
                     has_schema_privilege('{RUNNER}', 'shiftlock', 'create')"""
    assert every_database.execute(may.encode()).fetchone() == (False, False)


def test_a_role_that_may_create_no_roles_migrates_and_is_told_what_is_missing(
    every_server_url: str, every_database: psycopg.Connection, names: tuple[str, str]
) -> None:
    every_database.execute("drop schema shiftlock cascade")
    with login(every_server_url) as url, closing(psycopg.connect(url, autocommit=True)) as nobody:
        user = nobody.info.user
        every_database.execute(
            sql.SQL("grant create on database {} to {}").format(
                sql.Identifier(nobody.info.dbname), sql.Identifier(user)
            )
        )
        assert migrate(nobody)
        assert migrate(nobody) == []
        assert list(shortcomings(nobody)) == [
            f"role {name} is not there and {user} may not create it: until a role that may runs `create role {name}`, "
            "and the migrations run again, only the ledger's owner can use it"
            for name in names
        ]
        with guard_on(url) as guard:
            assert isinstance(guard.claim(request()), Claimed)
        # Once somebody has created them, the next migration gives them what is theirs.
        for name in names:
            every_database.execute(sql.SQL("create role {}").format(sql.Identifier(name)))
        assert migrate(nobody) == []
        assert list(shortcomings(nobody)) == []
        for name in names:
            every_database.execute(sql.SQL("drop owned by {}").format(sql.Identifier(name)))


def test_an_owner_that_has_a_roles_name_keeps_what_it_has_and_is_told(
    every_server_url: str, every_database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One user for all, as a laptop's or an older installation's."""
    every_database.execute("drop schema shiftlock cascade")
    with login(every_server_url) as url, closing(psycopg.connect(url, autocommit=True)) as owner:
        user = owner.info.user
        monkeypatch.setattr(roles, "PRIVILEGES", {user: RUNNER_MAY})
        database = sql.Identifier(owner.info.dbname)
        every_database.execute(sql.SQL("grant create on database {} to {}").format(database, sql.Identifier(user)))
        assert migrate(owner)
        assert migrate(owner) == []
        assert list(shortcomings(owner)) == [
            f"role {user} owns tables of the ledger and can change its schema: give them to shiftlock_migrator"
        ]
        owner.execute("alter table shiftlock.job_runs add column still_may integer")


def test_two_databases_of_one_server_may_meet_over_a_role_that_neither_has(
    every_server_url: str, every_database: psycopg.Connection, names: tuple[str, str]
) -> None:
    """Roles are the whole server's, and each migration's own lock is its database's."""
    with (
        psycopg.connect(every_server_url) as first,
        psycopg.connect(every_server_url, autocommit=True) as second,
        ThreadPoolExecutor(1) as pool,
    ):
        first.execute(sql.SQL("create role {}").format(sql.Identifier(names[0])))
        other = pool.submit(settle, second)
        waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and pid = %s"
        while every_database.execute(waits, [second.info.backend_pid]).fetchone() != (1,):
            assert not other.done()
        first.commit()
        other.result(timeout=60)
    assert list(shortcomings(every_database)) == []
