"""The layer's connection: round trips, poolers, what breaks under it, and how it says that it has none."""

import multiprocessing
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from aws_lambda_powertools.utilities.idempotency import idempotent
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyPersistenceLayerError

from handlers.powertools.idempotency import PostgresPersistenceLayer
from handlers.powertools.link import BACKEND, Link
from handlers.runtime.settings import InvalidSettings
from tests.guard.holders import ask
from tests.guard.outage import begin_outage, end_outage
from tests.powertools.invocation import EVENT, Context, Function
from tests.powertools.pooler import pooler_before
from tests.powertools.stores import PostgresStore

FORK = multiprocessing.get_context("fork")
LONG = 60.0
SESSIONS = """
from pg_stat_activity where application_name = 'shiftlock idempotency' and datname = current_database()
"""
COUNT = "select count(*)" + SESSIONS
END = "select pg_terminate_backend(pid, 5000)" + SESSIONS
# Which row version it is, and who locked it last, be it for a moment.
TOUCHED = "select format('%s %s', ctid, xmax) from shiftlock.idempotency_records"
PREPARED = "select count(*) from pg_prepared_statements"


def failing(event: dict[str, Any]) -> None:
    raise ConnectionError


def test_an_execution_takes_two_round_trips_a_duplicate_one_and_a_failure_two(database_url: str) -> None:
    with pooler_before(database_url) as pooler:
        layer = PostgresPersistenceLayer(pooler.url)
        Function().invoke(layer, {"id": "opens the connection"})
        spent = []
        for event, body in ((EVENT, None), (EVENT, None), ({"id": "other"}, failing)):
            before = pooler.statements
            with pytest.raises(ConnectionError) if body else nullcontext():
                Function(body=body).invoke(layer, event)
            spent.append(pooler.statements - before)
        assert spent == [2, 1, 2]


def test_a_duplicate_locks_and_writes_nothing(postgres: PostgresStore) -> None:
    Function().invoke(postgres.layer())
    before = ask(postgres.database, TOUCHED)
    Function().invoke(postgres.layer())
    assert ask(postgres.database, TOUCHED) == before


@pytest.mark.parametrize("pooled", [False, True], ids=["noticed", "said"])
def test_behind_a_transaction_pooler_every_statement_may_run_in_another_session(
    every_server_url: str, *, pooled: bool
) -> None:
    with pooler_before(every_server_url) as pooler:
        layer = PostgresPersistenceLayer(pooler.url, pooled=pooled)
        for number in range(12):  # psycopg prepares what it has run five times
            function = Function()
            assert [function.invoke(layer, {"id": number}) for _ in range(2)] == [{"execution": 1}] * 2


def test_statements_are_prepared_where_no_pooler_forbids_it(database_url: str) -> None:
    link = Link(lambda: database_url, name="test", pooled=False)
    for _ in range(10):
        link.execute(BACKEND, {})
    assert link.execute(PREPARED, {}).fetchone() != (0,)


@pytest.mark.parametrize("answer_lost", ["of the taking", "of the completion"])
def test_a_statement_whose_answer_was_lost_is_repeated_and_knows_itself(
    every_server_url: str, answer_lost: str
) -> None:
    with pooler_before(every_server_url) as pooler:
        layer = PostgresPersistenceLayer(pooler.url)

        def body(event: dict[str, Any]) -> str:
            pooler.lose_the_next_answer = answer_lost == "of the completion"
            return "done"

        Function().invoke(layer, {"id": "opens the connection"})
        pooler.lose_the_next_answer = answer_lost == "of the taking"
        assert Function(body=body).invoke(layer) == "done"
        assert not pooler.lose_the_next_answer
        assert Function().invoke(layer) == "done"


def test_the_connection_is_opened_by_the_first_invocation_and_kept_for_the_next(postgres: PostgresStore) -> None:
    layer = postgres.layer()
    assert ask(postgres.database, COUNT) == 0
    for number in range(3):
        Function().invoke(layer, {"id": number})
    assert ask(postgres.database, COUNT) == 1


def test_a_connection_that_broke_between_invocations_or_within_one_is_replaced(postgres: PostgresStore) -> None:
    layer = postgres.layer()

    def body(event: dict[str, Any]) -> str:
        assert ask(postgres.database, END) is True
        return "done"

    for number in range(2):
        assert Function(body=body).invoke(layer, {"id": number}) == "done"
        assert ask(postgres.database, END) is True
    assert postgres.statuses() == ["COMPLETED"] * 2


def test_a_connection_that_slept_too_long_to_be_trusted_is_replaced(database_url: str) -> None:
    link = Link(lambda: database_url, name="test", pooled=False, kept_for=timedelta(0))
    assert link.execute(BACKEND, {}).fetchone() != link.execute(BACKEND, {}).fetchone()


def test_a_fork_gets_a_connection_of_its_own_and_leaves_its_parents_alone(postgres: PostgresStore) -> None:
    layer = postgres.layer()

    def body(event: dict[str, Any]) -> str:
        child = FORK.Process(target=lambda: Function().invoke(layer, {"id": "in the child"}), daemon=True)
        child.start()
        child.join(LONG)
        assert child.exitcode == 0
        return "done"

    before = ask(postgres.database, "select array_agg(pid)" + SESSIONS)
    assert before is None
    assert Function(body=body).invoke(layer) == "done"
    assert postgres.statuses() == ["COMPLETED"] * 2


def test_a_database_out_of_reach_is_one_line_with_its_place_and_the_handler_is_not_executed(
    database_url: str,
) -> None:
    layer = PostgresPersistenceLayer(database_url)
    function = Function()
    begin_outage(database_url)
    with pytest.raises(IdempotencyPersistenceLayerError) as caught:
        function.invoke(layer)
    assert function.executions == 0
    message = str(caught.value)
    assert message.startswith("Failed to save in progress record to idempotency store - (database shiftlock_test_")
    assert "unavailable: " in message
    assert "not currently accepting connections" in message
    assert "\n" not in message
    end_outage(database_url)
    assert function.invoke(layer) == {"execution": 1}


def test_a_database_lost_while_the_handler_works_is_an_error_and_the_key_stays_taken(
    database_url: str, database: psycopg.Connection
) -> None:
    def body(event: dict[str, Any]) -> str:
        begin_outage(database_url)
        return "done"

    with pytest.raises(IdempotencyPersistenceLayerError, match="Failed to update record state to success"):
        Function(body=body).invoke(PostgresPersistenceLayer(database_url))
    end_outage(database_url)
    with psycopg.connect(database_url, autocommit=True) as back:
        assert ask(back, "select status from shiftlock.idempotency_records") == "INPROGRESS"


@pytest.mark.parametrize("missing", ["drop table shiftlock.idempotency_records", "drop schema shiftlock cascade"])
def test_a_database_without_the_table_says_what_to_do(
    database_url: str, database: psycopg.Connection, missing: str
) -> None:
    database.execute(missing.encode())
    with pytest.raises(IdempotencyPersistenceLayerError) as caught:
        Function().invoke(PostgresPersistenceLayer(database_url))
    assert str(caught.value).endswith("has no table of idempotency records: run `jobs migrate` first)")
    assert "\n" not in str(caught.value)


def test_what_the_database_refuses_is_one_line(database_url: str) -> None:
    with pytest.raises(IdempotencyPersistenceLayerError) as caught:
        Function(key_prefix="\0").invoke(PostgresPersistenceLayer(database_url))
    assert " refused: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_runtimes_settings_say_where_the_records_are(database_url: str) -> None:
    environ = {"SHIFTLOCK_ENVIRONMENT": "test", "SHIFTLOCK_DATABASE_URL": database_url}
    layer = PostgresPersistenceLayer.from_environment(environ)

    @idempotent(persistence_store=layer)
    def handler(event: dict[str, Any], context: Any) -> str:
        return "done"

    assert handler(EVENT, Context()) == "done"


def test_missing_settings_are_named(database_url: str) -> None:
    with pytest.raises(InvalidSettings, match="SHIFTLOCK_DATABASE_HOST is not set"):
        PostgresPersistenceLayer.from_environment({})
