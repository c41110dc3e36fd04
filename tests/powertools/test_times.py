"""Leases and expiry: on the database's clock, with a floor, and pruned in bounded steps."""

import datetime as dt
import time
from datetime import timedelta
from typing import Any, Self

import pytest
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyAlreadyInProgressError
from psycopg.conninfo import make_conninfo

from handlers.powertools.idempotency import PostgresPersistenceLayer
from tests.guard.holders import ask
from tests.powertools.invocation import Context, Function, Killed
from tests.powertools.stores import DynamoStore, PostgresStore, Store

LEFT = "select extract(epoch from live_until - clock_timestamp())::float8 from shiftlock.idempotency_records"
OLD = """
insert into shiftlock.idempotency_records (key, status, holder, live_until, payload_hash, response)
select 'old ' || n, 'COMPLETED', gen_random_uuid(), clock_timestamp() - make_interval(hours => n), '', '1'
from generate_series(1, 5) n
"""
KEYS = "select array_agg(key order by key) from shiftlock.idempotency_records where key like 'old %'"


def killed(event: dict[str, Any]) -> None:
    raise Killed


def set_clock(patch: pytest.MonkeyPatch, off: timedelta) -> None:
    """From now on this worker's clock is wrong."""
    real_time = time.time

    class Wrong(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Self:
            return super().now(tz) + off

    patch.setattr(dt, "datetime", Wrong)
    patch.setattr(time, "time", lambda: real_time() + off.total_seconds())


@pytest.mark.parametrize("off", [timedelta(hours=1), timedelta(hours=-1)], ids=["fast", "slow"])
def test_a_worker_whose_clock_is_an_hour_off_decides_like_the_others(
    postgres: PostgresStore, monkeypatch: pytest.MonkeyPatch, off: timedelta
) -> None:
    function = Function(config={"expires_after_seconds": 60})
    function.invoke(postgres.layer())
    set_clock(monkeypatch, off)
    assert function.invoke(postgres.layer()) == {"execution": 1}
    postgres.elapse(62)
    function.body = killed
    with pytest.raises(Killed):
        function.invoke(postgres.layer())
    assert 9 < float(str(ask(postgres.database, LEFT))) <= 10
    for worker in ("with the wrong clock", "with the right one"):
        if worker == "with the right one":
            monkeypatch.undo()
        with pytest.raises(IdempotencyAlreadyInProgressError):
            function.invoke(postgres.layer())
    assert function.executions == 2


def test_in_dynamodb_a_worker_whose_clock_is_fast_executes_what_is_stored(
    dynamodb: DynamoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = Function(config={"expires_after_seconds": 60})
    function.invoke(dynamodb.layer())
    with monkeypatch.context() as patch:
        set_clock(patch, timedelta(hours=1))
        assert function.invoke(dynamodb.layer()) == {"execution": 2}


@pytest.mark.parametrize(
    ("remaining", "seconds"),
    [(-5, 1), (0, 1), (999, 1), (1001, 1.001), (900_000, 900)],
)
def test_the_lease_is_the_time_that_lambda_leaves_and_a_second_at_least(
    postgres: PostgresStore, remaining: int, seconds: float
) -> None:
    with pytest.raises(Killed):
        Function(body=killed).invoke(postgres.layer(), context=Context(remaining))
    assert seconds - 1 < float(str(ask(postgres.database, LEFT))) <= seconds


def test_a_handler_killed_with_no_time_left_does_not_block_its_key_until_it_expires(postgres: PostgresStore) -> None:
    function = Function(body=killed)
    with pytest.raises(Killed):
        function.invoke(postgres.layer(), context=Context(remaining=0))
    with pytest.raises(IdempotencyAlreadyInProgressError):
        function.invoke(postgres.layer())
    postgres.elapse(1)
    function.body = None
    assert function.invoke(postgres.layer()) == {"execution": 2}


def test_in_dynamodb_its_key_is_free_at_once(dynamodb: DynamoStore) -> None:
    function = Function(body=killed)
    with pytest.raises(Killed):
        function.invoke(dynamodb.layer(), context=Context(remaining=0))
    dynamodb.elapse(0.01)
    function.body = None
    assert function.invoke(dynamodb.layer()) == {"execution": 2}


def expiring_first(store: Store) -> Function:
    """A function at work whose response would expire before Lambda's time for it is over."""
    function = Function(config={"expires_after_seconds": 5}, body=killed)
    with pytest.raises(Killed):
        function.invoke(store.layer(), context=Context(remaining=60_000))
    store.elapse(7)
    function.body = None
    return function


def test_a_handler_at_work_keeps_its_key_also_past_the_expiry_of_responses(postgres: PostgresStore) -> None:
    with pytest.raises(IdempotencyAlreadyInProgressError):
        expiring_first(postgres).invoke(postgres.layer())


def test_in_dynamodb_a_handler_at_work_loses_its_key_at_the_expiry_of_responses(dynamodb: DynamoStore) -> None:
    assert expiring_first(dynamodb).invoke(dynamodb.layer()) == {"execution": 2}


def test_each_execution_prunes_two_of_the_records_whose_time_is_over_the_oldest_first(
    postgres: PostgresStore,
) -> None:
    postgres.database.execute(OLD)
    for number, left in enumerate([["old 1", "old 2", "old 3"], ["old 1"], None]):
        Function().invoke(postgres.layer(), {"id": number})
        assert ask(postgres.database, KEYS) == left
    assert postgres.statuses() == ["COMPLETED"] * 3


def test_a_duplicate_prunes_nothing(postgres: PostgresStore) -> None:
    function = Function()
    function.invoke(postgres.layer())
    postgres.database.execute(OLD)
    function.invoke(postgres.layer())
    assert len(postgres.statuses()) == 6


def test_a_record_that_another_execution_takes_over_is_not_waited_for_by_the_pruning(
    postgres: PostgresStore,
) -> None:
    postgres.database.execute(OLD)
    impatient = PostgresPersistenceLayer(make_conninfo(postgres.url, options="-c lock_timeout=10s"))
    with postgres.database.transaction():
        postgres.database.execute("select from shiftlock.idempotency_records for update")
        Function().invoke(impatient)
    assert len(postgres.statuses()) == 6
