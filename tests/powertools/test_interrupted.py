"""What Powertools documents of executions that do not end well, held by its own DynamoDB layer and by ours."""

from collections.abc import Callable
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyPersistenceLayerError,
)

from tests.powertools.invocation import EVENT, HOUR, Context, DurableContext, Function, Killed, killed
from tests.powertools.stores import Store


def failing(event: dict[str, Any]) -> None:
    raise ValueError("the handler's own")


def test_a_response_that_is_no_json_is_an_error_of_the_layer_and_the_key_stays_taken(store: Store) -> None:
    function = Function(body=lambda event: object())
    with pytest.raises(IdempotencyPersistenceLayerError, match="not JSON serializable"):
        function.invoke(store.layer())
    with pytest.raises(IdempotencyAlreadyInProgressError):
        function.invoke(store.layer())


def test_a_duplicate_of_an_execution_in_progress_is_refused(store: Store) -> None:
    def duplicate(event: dict[str, Any]) -> str:
        with pytest.raises(IdempotencyAlreadyInProgressError, match="already in progress with idempotency key"):
            ordering.invoke(store.layer())
        return "done"

    ordering = Function(body=duplicate)
    assert ordering.invoke(store.layer()) == "done"
    assert ordering.executions == 1


def test_a_killed_handler_blocks_its_key_until_lambda_would_have_ended_it(store: Store) -> None:
    layer = store.layer()
    function = Function(body=killed)
    with pytest.raises(Killed):
        function.invoke(layer, context=Context(remaining=60_000))
    function.body = None
    store.elapse(50)
    with pytest.raises(IdempotencyAlreadyInProgressError):
        function.invoke(layer)
    store.elapse(12)
    assert function.invoke(layer) == {"execution": 2}
    assert function.invoke(store.layer()) == {"execution": 2}


@pytest.mark.filterwarnings("ignore:Couldn't determine the remaining time left")
def test_without_lambdas_context_a_killed_function_blocks_its_key_until_the_record_expires(store: Store) -> None:
    config = IdempotencyConfig(expires_after_seconds=HOUR)
    bodies: list[Callable[[dict[str, Any]], Any]] = [killed, lambda event: "done"]

    def process(order: dict[str, Any]) -> Any:
        return bodies.pop(0)(order)

    process = idempotent_function(
        process, data_keyword_argument="order", persistence_store=store.layer(), config=config
    )

    with pytest.raises(Killed):
        process(order=EVENT)
    store.elapse(HOUR - 10)
    with pytest.raises(IdempotencyAlreadyInProgressError):
        process(order=EVENT)
    store.elapse(12)
    assert process(order=EVENT) == "done"


def test_an_exception_deletes_the_record_and_reaches_the_caller(store: Store) -> None:
    function = Function(body=failing)
    for _ in range(2):
        with pytest.raises(ValueError, match="the handler's own"):
            function.invoke(store.layer())
    assert (function.executions, store.statuses()) == (2, [])


def test_a_replay_of_a_durable_function_goes_on_under_the_record_of_its_first_process(store: Store) -> None:
    function = Function(body=killed)
    with pytest.raises(Killed):
        function.invoke(store.layer())
    function.body = None
    assert function.invoke(store.layer(), context=DurableContext()) == {"execution": 2}
    assert function.invoke(store.layer()) == {"execution": 2}


def test_a_replay_that_fails_frees_the_key(store: Store) -> None:
    function = Function(body=killed)
    with pytest.raises(Killed):
        function.invoke(store.layer())
    function.body = failing
    with pytest.raises(ValueError, match="the handler's own"):
        function.invoke(store.layer(), context=DurableContext())
    assert store.statuses() == []


def test_without_its_store_a_handler_is_not_executed(store: Store) -> None:
    store.destroy()
    function = Function()
    with pytest.raises(IdempotencyPersistenceLayerError, match="Failed to save in progress record"):
        function.invoke(store.layer())
    assert function.executions == 0


def test_a_store_that_is_gone_when_the_handler_raises_keeps_the_handlers_error_in_sight(store: Store) -> None:
    def destroying(event: dict[str, Any]) -> None:
        store.destroy()
        raise ValueError("the handler's own")

    with pytest.raises(IdempotencyPersistenceLayerError, match="Failed to delete record") as caught:
        Function(body=destroying).invoke(store.layer())
    cause = caught.value.__cause__
    while cause is not None and not isinstance(cause, ValueError):
        cause = cause.__context__
    assert isinstance(cause, ValueError)
