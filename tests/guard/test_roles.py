"""The runner can do all that a job's start takes and nothing more; the reader can look."""

from collections.abc import Callable, Iterator
from typing import LiteralString

import psycopg
import pytest
from psycopg import errors

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import every
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.guard.connection import work_session
from handlers.guard.rescue import LostRun, end_ghosts
from handlers.guard.roles import READER, RUNNER, RUNNER_MAY
from handlers.guard.steps import Steps
from handlers.planning.sweep import sweep
from handlers.powertools.idempotency import PostgresPersistenceLayer
from tests.databases import Server, Template, found_servers
from tests.guard.holders import END_LEASE, LEASE, SUCCESS, ask, claimed, guard_on, request
from tests.guard.logins import login
from tests.guard.statements import Statement, statements
from tests.powertools.invocation import Function

OWNERS = ("handlers.guard.migrate.", "handlers.guard.roles.", "handlers.guard.users.")
OURS = [
    each
    for each in statements("handlers.guard", "handlers.planning", "handlers.powertools", "handlers.runtime")
    if not each.name.startswith(OWNERS)
]
LOOKS = [*statements("ops.ledger", "ops.reading", "ops.check_ledger", "ops.check_stuck")]
MINUTELY = declare(
    Job("minutely", target="tests.runtime.sample_jobs:succeed", schedule=every(minutes=1), longest_run=minutes(1))
)
# What nobody but the ledger's owner may do. Each would succeed as a superuser.
FORBIDDEN: tuple[LiteralString, ...] = (
    "create table shiftlock.mine ()",
    "create schema mine",
    "create table public.mine ()",
    "create function shiftlock.mine() returns integer language sql as 'select 1'",
    "alter table shiftlock.job_runs add column mine integer",
    "alter table shiftlock.job_runs disable trigger legal_moves",
    "drop trigger legal_moves on shiftlock.job_runs",
    "drop table shiftlock.run_steps",
    "drop schema shiftlock cascade",
    "truncate shiftlock.run_steps",
    "create index on shiftlock.job_runs (tick)",
    "delete from shiftlock.run_steps",
    "update shiftlock.run_steps set fence = 0",
    "delete from shiftlock.job_attempts",
    "delete from shiftlock.jobs",
    "update shiftlock.lock_keys set lock_key = 0",
    "insert into shiftlock.migrations (number, name) values (9999, 'mine')",
    "delete from shiftlock.migrations",
    "select setval('shiftlock.fence', 1)",
    "create role mine",
)


def test_the_runner_claims_renews_steps_and_finishes(runner_url: str, runner: psycopg.Connection) -> None:
    with guard_on(runner_url) as guard:
        claim = claimed(guard, request("one", partition="north"))
        assert guard.renew(claim, {"done": 1}) is None
        steps = Steps(runner, claim, lease=LEASE)
        with steps.step("invoice:1") as tx:
            assert tx is not None
        with steps.step("invoice:1") as again:
            assert again is None
        guard.finish(claim, SUCCESS)
    assert ask(runner, "select status from shiftlock.job_runs") == "succeeded"


def test_the_runner_takes_over_from_a_silent_holder_and_ends_its_session(
    runner_url: str, runner: psycopg.Connection
) -> None:
    with guard_on(runner_url) as ghost, guard_on(runner_url) as successor:
        first = claimed(ghost, request())
        session = ghost._usable(None)[0].connection
        runner.execute(END_LEASE)
        second = claimed(successor, request(holder="holder-2"))
        with pytest.raises(errors.AdminShutdown):
            session.execute("select 1")
    assert (second.attempt, second.fence > first.fence) == (2, True)


def test_the_runner_ends_sessions_of_its_own_role_only(every_server_url: str, runner: psycopg.Connection) -> None:
    with psycopg.connect(every_server_url, application_name=work_session("nightly", 7, 9)) as work:
        end_ghosts(runner, LostRun("nightly", 7, 9, work.info.backend_pid, None))
        with pytest.raises(errors.InsufficientPrivilege):
            runner.execute("select pg_terminate_backend(%s)", [work.info.backend_pid])
        assert work.execute("select 1").fetchone() == (1,)


def test_the_runner_plans_skips_and_rescues(runner: psycopg.Connection) -> None:
    made = sweep(runner, MINUTELY, on_time=lambda job: minutes(1), rings=True, lost_budget=5)
    assert made.planned >= 60
    runner.execute("update shiftlock.jobs set planned_until = clock_timestamp() - interval '5 minutes'")
    runner.execute("delete from shiftlock.job_runs")
    again = sweep(runner, MINUTELY, on_time=lambda job: minutes(1), rings=True, lost_budget=5)
    assert {skip.reason for _, skip in again.skipped} == {"superseded"}


def test_the_runner_keeps_idempotency_records(runner_url: str) -> None:
    function = Function()
    answers = [function.invoke(PostgresPersistenceLayer(lambda: runner_url)) for _ in range(2)]
    assert (answers, function.executions) == ([{"execution": 1}] * 2, 1)


@pytest.mark.parametrize("statement", OURS, ids=lambda statement: statement.name)
def test_the_runner_may_do_each_statement_that_ships(
    statement: Statement, runner_connection: psycopg.Connection
) -> None:
    statement.check(runner_connection)


@pytest.mark.parametrize("statement", LOOKS, ids=lambda statement: statement.name)
def test_the_reader_may_ask_all_that_the_command_line_asks(
    statement: Statement, reader_connection: psycopg.Connection
) -> None:
    statement.check(reader_connection)


@pytest.mark.parametrize(
    ("table", "verb"),
    [(table, verb) for table, verbs in RUNNER_MAY.items() if table != "fence" for verb in verbs.split()],
)
def test_the_runner_may_nothing_that_no_statement_needs(table: str, verb: str, superuser: psycopg.Connection) -> None:
    needed = False
    with superuser.transaction(force_rollback=True):
        superuser.execute(f"revoke {verb} on shiftlock.{table} from {RUNNER}".encode())
        superuser.execute(f"set local role {RUNNER}".encode())
        for statement in OURS:
            if table in statement.text and not needed:
                try:
                    with superuser.transaction():
                        statement.check(superuser)
                except errors.InsufficientPrivilege:
                    needed = True
    assert needed


@pytest.mark.parametrize("role", [RUNNER, READER])
def test_neither_may_change_the_ledger_otherwise(every_server_url: str, role: str) -> None:
    with login(every_server_url, role) as url, psycopg.connect(url, autocommit=True) as connection:
        for statement in FORBIDDEN:
            with pytest.raises((errors.InsufficientPrivilege, errors.UndefinedObject)):
                connection.execute(statement)


def test_the_reader_changes_nothing(every_server_url: str, reader: psycopg.Connection) -> None:
    with guard_on(every_server_url) as guard:
        claimed(guard, request())
    for statement in OURS:
        if statement.text.split()[0] != "select":
            with pytest.raises(errors.InsufficientPrivilege):
                statement.check(reader)
    for verb in ("insert into shiftlock.jobs default values", END_LEASE, "delete from shiftlock.job_runs"):
        with pytest.raises(errors.InsufficientPrivilege):
            reader.execute(verb.encode())
    assert ask(reader, "select count(*) from shiftlock.job_runs") == 1


@pytest.mark.parametrize("role", [RUNNER, READER])
def test_neither_sees_anything_beyond_the_ledger(
    every_server_url: str, every_database: psycopg.Connection, role: str
) -> None:
    every_database.execute("create schema elsewhere; create table elsewhere.salaries (amount integer)")
    with login(every_server_url, role) as url, psycopg.connect(url, autocommit=True) as connection:
        for table in ("elsewhere.salaries", "pg_authid"):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(f"select from {table}".encode())


def test_the_reader_sees_tables_that_are_yet_to_come(
    every_database: psycopg.Connection, reader: psycopg.Connection
) -> None:
    every_database.execute("create table shiftlock.a_copy as select 1 as number")
    assert ask(reader, "select number from shiftlock.a_copy") == 1


@pytest.fixture(scope="module")
def shared_database(template_on: Callable[[Server], Template]) -> Iterator[str]:
    """One database for what changes nothing."""
    with template_on(found_servers()[0]).clone() as url:
        yield url


@pytest.fixture(scope="module")
def superuser(shared_database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(shared_database, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def runner_connection(shared_database: str) -> Iterator[psycopg.Connection]:
    with login(shared_database, RUNNER) as url, psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def reader_connection(shared_database: str) -> Iterator[psycopg.Connection]:
    with login(shared_database, READER) as url, psycopg.connect(url, autocommit=True) as connection:
        yield connection
