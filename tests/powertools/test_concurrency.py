"""Many at once, in threads and processes; killed in the middle; and duplicates that wait."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyValidationError,
)

from handlers.powertools.idempotency import PostgresPersistenceLayer
from tests.guard.holders import ask
from tests.powertools.invocation import EVENT, Context, Function, Killed
from tests.powertools.stores import PostgresStore

FORK = multiprocessing.get_context("fork")
CROWD = 50
LONG = 60.0
VALIDATING = {"event_key_jmespath": "id", "payload_validation_jmespath": "amount"}
EXECUTED = "insert into executions values (default)"
# The one at work and the one that waits have looked, and have been answered.
LOOKED = """
select count(*) from pg_stat_activity
where application_name = 'shiftlock idempotency' and datname = current_database()
  and query like '%prior%' and state = 'idle'
"""


def killed(event: dict[str, Any]) -> None:
    raise Killed


@pytest.mark.parametrize("shared", [True, False], ids=["one sandbox", "a sandbox each"])
def test_of_fifty_threads_one_executes_and_none_gets_another_answer(postgres: PostgresStore, *, shared: bool) -> None:
    together = threading.Barrier(CROWD)
    function = Function()
    one = postgres.layer()

    def invoke(_: int) -> Any:
        layer = one if shared else postgres.layer()
        together.wait(LONG)
        try:
            return function.invoke(layer)
        except IdempotencyAlreadyInProgressError:
            return "refused"

    with ThreadPoolExecutor(CROWD) as crowd:
        answers = list(crowd.map(invoke, range(CROWD)))
    assert function.executions == 1
    assert all(answer in ({"execution": 1}, "refused") for answer in answers)
    assert {"execution": 1} in answers


def test_of_fifty_processes_one_executes(postgres: PostgresStore) -> None:
    postgres.database.execute("create table executions (at timestamptz default clock_timestamp())")
    layer = postgres.layer()
    Function().invoke(layer, {"id": "opens the connection that the processes inherit"})
    together = FORK.Barrier(CROWD)

    def body(event: dict[str, Any]) -> str:
        layer._link.execute(EXECUTED, {})
        return "done"

    def invoke() -> None:
        together.wait(LONG)
        try:
            assert Function(body=body).invoke(layer) == "done"
        except IdempotencyAlreadyInProgressError:
            os._exit(11)

    processes = [FORK.Process(target=invoke, daemon=True) for _ in range(CROWD)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(LONG)
    assert {process.exitcode for process in processes} <= {0, 11}
    assert ask(postgres.database, "select count(*) from executions") == 1


def test_expired_keys_that_many_take_over_and_prune_at_once_are_executed_once_each(postgres: PostgresStore) -> None:
    """Each taking prunes what others are about to take: none may wait for another in a circle."""
    keys = range(20)
    seeding = postgres.layer()
    for key in keys:
        with pytest.raises(Killed):
            Function(body=killed).invoke(seeding, {"id": key})
    postgres.elapse(3600)
    together = threading.Barrier(8)
    executed: list[int] = []
    functions = [Function(body=lambda event: executed.append(event["id"])) for _ in range(8)]

    def invoke(number: int) -> None:
        layer = postgres.layer()
        together.wait(LONG)
        for key in keys if number % 2 else reversed(keys):
            try:
                functions[number].invoke(layer, {"id": key})
            except IdempotencyAlreadyInProgressError:
                continue

    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(invoke, range(8)))
    assert sorted(executed) == list(keys)


def test_a_handler_killed_with_signal_9_is_executed_again_once_its_time_is_over(postgres: PostgresStore) -> None:
    layer = postgres.layer()
    at_work, tell = FORK.Pipe(duplex=False)

    def body(event: dict[str, Any]) -> None:
        tell.send("at work")
        signal.pause()

    process = FORK.Process(target=lambda: Function(body=body).invoke(layer, context=Context(remaining=20_000)))
    process.start()
    assert at_work.poll(LONG)
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join(LONG)
    assert process.exitcode == -signal.SIGKILL
    postgres.elapse(15)
    with pytest.raises(IdempotencyAlreadyInProgressError):
        Function().invoke(layer)
    postgres.elapse(5)
    assert Function().invoke(layer) == {"execution": 1}


@contextmanager
def at_work(postgres: PostgresStore, ends: Any) -> Iterator[threading.Event]:
    """An execution in another thread that goes on until the event is set, then ends so."""
    began, may_end = threading.Event(), threading.Event()

    def body(event: dict[str, Any]) -> Any:
        began.set()
        assert may_end.wait(LONG)
        if isinstance(ends, Exception):
            raise ends
        return ends

    with ThreadPoolExecutor(1) as other:
        execution = other.submit(Function(body=body, config=VALIDATING).invoke, postgres.layer())
        assert began.wait(LONG)
        try:
            yield may_end
        finally:
            may_end.set()
        assert execution.exception() is (ends if isinstance(ends, Exception) else None)


@pytest.mark.parametrize(
    ("ends", "answer"),
    [("done", "done"), (ConnectionError("the first one's own"), {"execution": 1})],
    ids=["gets its response", "executes when that failed"],
)
def test_a_duplicate_that_may_wait_waits_for_the_execution_in_progress(
    postgres: PostgresStore, ends: Any, answer: Any
) -> None:
    waiting = PostgresPersistenceLayer(postgres.url, wait=timedelta(seconds=LONG))
    with ThreadPoolExecutor(1) as other:
        with at_work(postgres, ends) as may_end:
            duplicate = other.submit(Function(config=VALIDATING).invoke, waiting)
            while ask(postgres.database, LOOKED) != 2:
                assert not duplicate.done()
            may_end.set()
        assert duplicate.result(LONG) == answer


def test_a_duplicate_waits_no_longer_than_it_may(postgres: PostgresStore) -> None:
    waiting = PostgresPersistenceLayer(postgres.url, wait=timedelta(seconds=0.15))
    with at_work(postgres, "done"), pytest.raises(IdempotencyAlreadyInProgressError):
        Function(config=VALIDATING).invoke(waiting)


def test_a_duplicate_with_another_payload_is_refused_without_waiting(postgres: PostgresStore) -> None:
    waiting = PostgresPersistenceLayer(postgres.url, wait=timedelta(days=1))
    with at_work(postgres, "done"), pytest.raises(IdempotencyValidationError):
        Function(config=VALIDATING).invoke(waiting, EVENT | {"amount": 6})
