"""The first run on a new server, by a master user such as RDS has: it may create roles and is no superuser."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo

from handlers.guard import roles, users
from handlers.guard.migrate import migrate
from handlers.guard.roles import shortcomings
from handlers.guard.users import make_users
from tests.guard.holders import ask, claimed, guard_on, request

MASTER = """
create role {master} login createrole;
create role {iam};
grant {iam} to {master} with admin option;
alter database {database} owner to {master}
"""
OWNERS = """
select distinct relowner::regrole::text from pg_class where relnamespace = 'shiftlock'::regnamespace
union select proowner::regrole::text from pg_proc where pronamespace = 'shiftlock'::regnamespace
union select nspowner::regrole::text from pg_namespace where nspname = 'shiftlock'
"""
MEMBERS = """
select member::regrole::text from pg_auth_members where roleid = %s::regrole and member <> %s::regrole
order by 1
"""


@dataclass(frozen=True, slots=True)
class NewServer:
    """A server that only its master user knows, and the names that users will have on it."""

    url: str
    master: psycopg.Connection
    migrator: str
    runner: str
    reader: str
    iam: str

    def as_user(self, name: str) -> str:
        """The database as this user has it."""
        return make_conninfo(self.url, user=name)


@pytest.fixture
def server(
    every_server_url: str, every_database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> Iterator[NewServer]:
    """Names are new for each test: users belong to the whole server."""
    every_database.execute("drop schema shiftlock cascade")
    mark = uuid4().hex[:12]
    master, migrator, runner, reader, iam = (
        f"{name}_{mark}" for name in ("master", "migrator", "runner", "reader", "iam")
    )
    monkeypatch.setattr(users, "IAM", iam)
    monkeypatch.setattr(users, "MIGRATOR", migrator)
    monkeypatch.setattr(users, "USERS", (migrator, runner, reader))
    monkeypatch.setattr(roles, "PRIVILEGES", {runner: roles.RUNNER_MAY, reader: roles.READER_MAY})
    database = every_database.info.dbname
    every_database.execute(
        sql.SQL(MASTER).format(
            master=sql.Identifier(master), database=sql.Identifier(database), iam=sql.Identifier(iam)
        )
    )
    try:
        with psycopg.connect(make_conninfo(every_server_url, user=master), autocommit=True) as connection:
            yield NewServer(every_server_url, connection, migrator, runner, reader, iam)
    finally:
        every_database.execute(sql.SQL("alter database {} owner to current_user").format(sql.Identifier(database)))
        every_database.execute("drop schema if exists shiftlock cascade")
        for name in (migrator, runner, reader, master, iam):
            user = sql.Identifier(name)
            try:
                every_database.execute(sql.SQL("drop owned by {user}; drop role {user}").format(user=user))
            except errors.UndefinedObject:
                continue  # the test did not come to it


def test_after_the_first_run_the_migrator_migrates_the_runner_runs_and_the_reader_reads(server: NewServer) -> None:
    done = make_users(server.master)
    assert done[:3] == [f"created {name}" for name in (server.migrator, server.runner, server.reader)]
    assert server.master.execute(MEMBERS, [server.iam, server.master.info.user]).fetchall() == [
        (name,) for name in sorted((server.migrator, server.reader, server.runner))
    ]
    with psycopg.connect(server.as_user(server.migrator), autocommit=True) as migrator:
        assert migrate(migrator)
        assert list(shortcomings(migrator)) == []
        assert migrator.execute(OWNERS).fetchall() == [(server.migrator,)]
    with guard_on(server.as_user(server.runner)) as guard:
        claimed(guard, request())
    with psycopg.connect(server.as_user(server.reader)) as reader:
        assert ask(reader, "select status from shiftlock.job_runs") == "running"


def test_a_second_run_finds_nothing_to_do(server: NewServer) -> None:
    assert make_users(server.master)
    assert make_users(server.master) == []


def test_users_that_were_made_by_hand_get_what_they_lack(server: NewServer) -> None:
    for name in (server.runner, server.reader):
        server.master.execute(sql.SQL("create role {}").format(sql.Identifier(name)))
    assert make_users(server.master) == [
        f"created {server.migrator}",
        f"{server.runner} may log in",
        f"{server.reader} may log in",
        *(f"{name} logs in by IAM" for name in (server.migrator, server.runner, server.reader)),
        f"{server.migrator} may create schemas",
    ]


def test_a_ledger_that_the_jobs_user_owned_becomes_the_migrators(server: NewServer) -> None:
    for statement in ("create role {} login", "grant create on database {database} to {}"):
        server.master.execute(
            sql.SQL(statement).format(sql.Identifier(server.runner), database=sql.Identifier(server.master.info.dbname))
        )
    with psycopg.connect(server.as_user(server.runner), autocommit=True) as once:
        migrate(once)
    with guard_on(server.as_user(server.runner)) as before:
        held = claimed(before, request())
        assert make_users(server.master)[-1] == f"the ledger is {server.migrator}'s now"
        assert server.master.execute(OWNERS).fetchall() == [(server.migrator,)]
        with psycopg.connect(server.as_user(server.migrator), autocommit=True) as migrator:
            assert migrate(migrator) == []
            assert list(shortcomings(migrator)) == []
        assert before.renew(held, None) is None  # a run goes on over the change
    with (
        psycopg.connect(server.as_user(server.runner), autocommit=True) as runner,
        pytest.raises(errors.InsufficientPrivilege),
    ):
        runner.execute("alter table shiftlock.jobs add column mine integer")


def test_the_master_user_is_a_member_of_none_of_them_afterwards(server: NewServer) -> None:
    """Else it would be in the IAM role itself, by way of them."""
    with psycopg.connect(server.as_user(server.master.info.user), autocommit=True) as other:
        migrate(other)  # by the master itself, which is to be changed too
    make_users(server.master)
    for name in (server.migrator, server.runner, server.reader):
        uses = server.master.execute("select pg_has_role(current_user, %s, 'usage')", [name]).fetchone()
        assert uses == (False,)
