"""What Powertools documents of duplicates and of its options, held by its own DynamoDB layer and by ours."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyKeyError,
    IdempotencyValidationError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord
from aws_lambda_powertools.utilities.idempotency.serialization.dataclass import DataclassSerializer

from tests.powertools.invocation import EVENT, HOUR, Context, Function, Killed, killed
from tests.powertools.stores import Store


def test_a_duplicate_gets_the_stored_response_and_the_handler_runs_once(store: Store) -> None:
    function = Function()
    assert [function.invoke(store.layer()) for _ in range(3)] == [{"execution": 1}] * 3
    assert (function.executions, store.statuses()) == (1, ["COMPLETED"])


def test_another_event_is_another_execution(store: Store) -> None:
    function = Function()
    answers = [function.invoke(store.layer(), {"id": name}) for name in ("a", "b", "a")]
    assert [answer["execution"] for answer in answers] == [1, 2, 1]


@pytest.mark.parametrize(
    ("response", "replayed"),
    [
        (None, None),
        (0, None),  # Powertools takes what is false in Python for no response
        ("", None),
        ([1, [2.5, True]], [1, [2.5, True]]),
        ({"b": {"é": "\u0000😀"}, "a": []}, {"a": [], "b": {"é": "\u0000😀"}}),
        ({"price": Decimal("9.90")}, {"price": "9.90"}),
        (math.nan, math.nan),
        ("x" * 100_000, "x" * 100_000),
    ],
    ids=["nothing", "zero", "empty", "list", "unicode", "decimal", "nan", "large"],
)
def test_a_response_comes_back_as_json_gives_it_back(store: Store, response: object, replayed: object) -> None:
    function = Function(body=lambda event: response)
    function.invoke(store.layer())
    assert repr(function.invoke(store.layer())) == repr(replayed)


def test_an_expired_record_is_executed_again_and_the_new_response_kept(store: Store) -> None:
    function = Function(config={"expires_after_seconds": 60})
    function.invoke(store.layer())
    store.elapse(50)
    assert function.invoke(store.layer()) == {"execution": 1}
    store.elapse(12)
    assert function.invoke(store.layer()) == {"execution": 2}
    assert function.invoke(store.layer()) == {"execution": 2}


VALIDATING = {"event_key_jmespath": "id", "payload_validation_jmespath": "amount"}


def test_a_duplicate_with_another_payload_is_refused(store: Store) -> None:
    function = Function(config=VALIDATING)
    function.invoke(store.layer())
    with pytest.raises(IdempotencyValidationError):
        function.invoke(store.layer(), EVENT | {"amount": 6})
    assert function.invoke(store.layer(), EVENT | {"note": "not validated"}) == {"execution": 1}


def test_another_payload_is_refused_also_while_the_first_is_in_progress(store: Store) -> None:
    function = Function(config=VALIDATING, body=killed)
    with pytest.raises(Killed):
        function.invoke(store.layer())
    with pytest.raises(IdempotencyValidationError):
        function.invoke(store.layer(), EVENT | {"amount": 6})


def test_an_expired_record_does_not_bind_the_payload(store: Store) -> None:
    function = Function(config=VALIDATING | {"expires_after_seconds": 60})
    function.invoke(store.layer())
    store.elapse(62)
    for _ in range(2):
        assert function.invoke(store.layer(), EVENT | {"amount": 6}) == {"execution": 2}


def test_the_response_hook_sees_the_stored_response_and_when_it_expires(store: Store) -> None:
    seen: list[DataRecord] = []

    def hook(response: Any, record: DataRecord) -> Any:
        seen.append(record)
        return response | {"replayed": True}

    function = Function(config={"response_hook": hook, "expires_after_seconds": HOUR})
    assert function.invoke(store.layer()) == {"execution": 1}
    assert function.invoke(store.layer()) == {"execution": 1, "replayed": True}
    expires = seen[0].get_expiration_datetime()
    assert expires is not None
    assert abs(expires - datetime.now() - timedelta(hours=1)) < timedelta(minutes=1)
    assert seen[0].status == "COMPLETED"


def test_an_event_without_key_is_refused_where_the_function_wants_one(store: Store) -> None:
    function = Function(config={"event_key_jmespath": "id", "raise_on_no_idempotency_key": True})
    with pytest.raises(IdempotencyKeyError):
        function.invoke(store.layer(), {"amount": 5})
    assert function.executions == 0


@pytest.mark.filterwarnings("ignore:No idempotency key value found")
def test_an_event_without_key_is_executed_each_time_otherwise(store: Store) -> None:
    function = Function(config={"event_key_jmespath": "id"})
    for number in (1, 2):
        assert function.invoke(store.layer(), {"amount": 5}) == {"execution": number}
    assert store.statuses() == []


def test_a_key_prefix_separates_and_joins_functions(store: Store) -> None:
    orders, refunds, more_orders = Function(key_prefix="orders"), Function(key_prefix="refunds"), Function()
    more_orders.key_prefix = "orders"
    for function in (orders, refunds, more_orders):
        function.invoke(store.layer())
    assert [function.executions for function in (orders, refunds, more_orders)] == [1, 1, 0]


def test_the_local_cache_answers_without_the_store(store: Store) -> None:
    layer = store.layer()
    function = Function(config={"use_local_cache": True})
    function.invoke(layer)
    store.destroy()
    assert function.invoke(layer) == {"execution": 1}


def test_a_response_seen_as_duplicate_is_in_the_local_cache_too(store: Store) -> None:
    function = Function(config={"use_local_cache": True})
    function.invoke(store.layer())
    layer = store.layer()
    function.invoke(layer)
    store.destroy()
    assert function.invoke(layer) == {"execution": 1}


@dataclass
class Receipt:
    """What a function answers."""

    number: int


def test_an_output_serializer_gives_the_type_back(store: Store) -> None:
    config = IdempotencyConfig()
    config.register_lambda_context(Context())  # type: ignore[arg-type]

    def process(order: dict[str, Any]) -> Receipt:
        return Receipt(7)

    process = idempotent_function(
        process,
        data_keyword_argument="order",
        persistence_store=store.layer(),
        config=config,
        output_serializer=DataclassSerializer(Receipt),
    )

    assert [process(order=EVENT) for _ in range(2)] == [Receipt(7)] * 2


def test_a_record_that_somebody_deletes_is_executed_again(store: Store) -> None:
    function = Function()
    function.invoke(store.layer())
    store.forget()
    assert function.invoke(store.layer()) == {"execution": 2}
