"""Executions that outlived their lease: what ours refuses them, and what DynamoDB's layer lets them do."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyPersistenceLayerError,
)

from handlers.powertools.idempotency import TakenOver
from tests.powertools.invocation import Function, Killed
from tests.powertools.stores import DynamoStore, PostgresStore, Store

Body = Callable[[dict[str, Any]], Any]


def overtaken(store: Store, *, successor: Body, ends: Body) -> Any:
    """An execution whose lease ends while it works, so that a successor is let in; then it `ends`."""

    def outlive(event: dict[str, Any]) -> Any:
        store.elapse(12)
        with suppress(Killed, ConnectionError):
            Function(body=successor).invoke(store.layer())
        return ends(event)

    return Function(body=outlive).invoke(store.layer())


def stored(store: Store) -> Any:
    """What a duplicate gets now; {"execution": 1} when it is executed."""
    return Function().invoke(store.layer())


def answers_late(event: dict[str, Any]) -> str:
    return "the late one's"


def fails_late(event: dict[str, Any]) -> None:
    raise ValueError("the late one's own")


def answers(event: dict[str, Any]) -> str:
    return "the successor's"


def fails(event: dict[str, Any]) -> None:
    raise ConnectionError


def goes_on(event: dict[str, Any]) -> None:
    raise Killed  # nothing tells the store that it has ended, so that it is still in progress there


def test_a_late_execution_cannot_overwrite_the_response_of_its_successor(postgres: PostgresStore) -> None:
    with pytest.raises(IdempotencyPersistenceLayerError) as caught:
        overtaken(postgres, successor=answers, ends=answers_late)
    assert stored(postgres) == "the successor's"
    assert isinstance(caught.value.__cause__, TakenOver)
    assert "was taken over by another execution, the result of this one is not stored" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_late_execution_cannot_complete_a_record_that_its_successor_works_on(postgres: PostgresStore) -> None:
    with pytest.raises(IdempotencyPersistenceLayerError):
        overtaken(postgres, successor=goes_on, ends=answers_late)
    assert postgres.statuses() == ["INPROGRESS"]


def test_a_late_execution_that_fails_cannot_delete_the_response_of_its_successor(postgres: PostgresStore) -> None:
    with pytest.raises(ValueError, match="the late one's own"):
        overtaken(postgres, successor=answers, ends=fails_late)
    assert stored(postgres) == "the successor's"


def test_a_late_execution_that_fails_lets_nobody_in_beside_its_successor(postgres: PostgresStore) -> None:
    with pytest.raises(ValueError, match="the late one's own"):
        overtaken(postgres, successor=goes_on, ends=fails_late)
    with pytest.raises(IdempotencyAlreadyInProgressError):
        stored(postgres)


def test_a_late_execution_that_nobody_has_taken_over_is_stored(store: Store) -> None:
    def outlive(event: dict[str, Any]) -> str:
        store.elapse(12)
        return answers_late(event)

    Function(body=outlive).invoke(store.layer())
    assert stored(store) == "the late one's"


def test_a_late_execution_whose_successor_failed_is_stored(store: Store) -> None:
    overtaken(store, successor=fails, ends=answers_late)
    assert stored(store) == "the late one's"


def test_two_executions_in_one_sandbox_and_thread_are_told_apart(postgres: PostgresStore) -> None:
    layer = postgres.layer()

    def outlive(event: dict[str, Any]) -> str:
        postgres.elapse(12)
        assert Function(body=answers).invoke(layer) == "the successor's"
        return answers_late(event)

    with pytest.raises(IdempotencyPersistenceLayerError):
        Function(body=outlive).invoke(layer)
    assert stored(postgres) == "the successor's"


def test_two_threads_of_one_sandbox_are_told_apart(postgres: PostgresStore) -> None:
    layer = postgres.layer()

    def outlive(event: dict[str, Any]) -> str:
        postgres.elapse(12)
        with ThreadPoolExecutor(1) as other:
            assert isinstance(other.submit(Function(body=goes_on).invoke, layer).exception(), Killed)
        return answers_late(event)

    with pytest.raises(IdempotencyPersistenceLayerError):
        Function(body=outlive).invoke(layer)
    assert postgres.statuses() == ["INPROGRESS"]


def test_in_dynamodb_a_late_execution_overwrites_the_response_of_its_successor(dynamodb: DynamoStore) -> None:
    overtaken(dynamodb, successor=answers, ends=answers_late)
    assert stored(dynamodb) == "the late one's"


def test_in_dynamodb_a_late_execution_lets_a_third_one_in_beside_its_successor(dynamodb: DynamoStore) -> None:
    with pytest.raises(ValueError, match="the late one's own"):
        overtaken(dynamodb, successor=goes_on, ends=fails_late)
    assert stored(dynamodb) == {"execution": 1}
