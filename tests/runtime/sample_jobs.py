"""Jobs that behave in the ways a runtime must cope with. They reach their test through the ledger's database."""

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count

import psycopg

from handlers.guard.outbox import KeyTaken
from handlers.runtime.context import Context
from handlers.runtime.retry import Fatal


def succeed(context: Context) -> Mapping[str, object]:
    return {"attempt": context.attempt}


def fail(context: Context) -> None:
    raise ValueError("the order has no price")


def fail_for_good(context: Context) -> None:
    raise Fatal("the tenant has gone")


def fail_twice(context: Context) -> Mapping[str, object]:
    if context.attempt < 3:
        raise ConnectionError(f"attempt {context.attempt}")
    return {"attempt": context.attempt}


def return_no_json(context: Context) -> Mapping[str, object]:
    return {"connection": object()}


def exit_early(context: Context) -> None:
    raise SystemExit(0)


def sleep_in_python(context: Context) -> None:
    time.sleep(60)


def sleep_in_the_database(context: Context) -> None:
    context.connection.execute("select pg_sleep(60)")


def never_come_back(context: Context) -> None:
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            continue


def wait_until_told_to_stop(context: Context) -> None:
    context.connection.execute("notify begun")
    while not context.stopping:
        context.stop.wait(60)
    context.stop_if_asked()


def wait_for_the_word(context: Context) -> Mapping[str, object]:
    context.connection.execute("notify begun")
    context.connection.execute("select pg_advisory_lock(1234, 1)")
    context.connection.execute("select pg_advisory_unlock(1234, 1)")
    return {"attempt": context.attempt}


def two_steps_and_a_failure_between(context: Context) -> Mapping[str, object]:
    for name in ("first", "second"):
        with context.step(name) as tx:
            if tx is not None:
                tx.execute("insert into effect (name, attempt) values (%s, %s)", (name, context.attempt))
        if name == "first" and context.attempt == 1:
            raise ConnectionError("cut between the steps")
    return {}


def a_thousand_items_cut_at_600(context: Context) -> Mapping[str, object]:
    def work(tx: psycopg.Connection, item: int) -> None:
        if item == 600 and context.attempt == 1:
            raise ConnectionError("cut at item 600")
        tx.execute("insert into effect (name, attempt) values (%s, %s)", (str(item), context.attempt))

    return {"done": context.each(range(1000), work, key=str, batch=50)}


def be_taken_over_within_a_step(context: Context) -> None:
    with context.step("effect") as tx:
        assert tx is not None
        tx.execute("insert into effect (name, attempt) values ('effect', %s)", (context.attempt,))
        with psycopg.connect(tx.info.dsn, autocommit=True) as successor:
            successor.execute("update shiftlock.job_runs set fence = nextval('shiftlock.fence')")


def kill_the_database_and_fail(context: Context) -> None:
    row = context.connection.execute("select split_part(pg_read_file('postmaster.pid'), e'\\n', 1)::int").fetchone()
    assert row is not None
    os.kill(row[0], signal.SIGQUIT)
    with suppress(psycopg.OperationalError):
        context.connection.execute("select pg_sleep(60)")
    raise ValueError("the order has no price")


def stop_the_process_once(context: Context) -> Mapping[str, object]:
    if context.attempt == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    return {"attempt": context.attempt}


def send_one_for_each_tenant(context: Context) -> Mapping[str, object]:
    tenants = ["north", "south", "east"]
    new = context.fan_out("child", tenants, key=str, payload=lambda tenant: {"tenant": tenant})
    return {"new": new}


def send_to_nobody_in_particular(context: Context) -> Mapping[str, object]:
    return {"new": context.fan_out("child", [], key=str, payload=lambda item: {}, may_fail=1.0)}


def send_and_be_cut(context: Context) -> Mapping[str, object]:
    result = send_one_for_each_tenant(context)
    if context.attempt == 1:
        raise ConnectionError("cut after the fan-out")
    return result


def send_what_can_be_sent(context: Context) -> None:
    number = count()
    with suppress(KeyTaken):
        context.fan_out("child", ["north", "south", "north"], key=str, payload=lambda item: {"number": next(number)})


def send_some_that_must_not_fail_and_some_that_may(context: Context) -> None:
    for tenants, may_fail in ((["north"], 0.0), (["south"], 1.0)):
        context.fan_out("child", tenants, key=str, payload=lambda tenant: {"tenant": tenant}, may_fail=may_fail)


def send_and_be_taken_over(context: Context) -> None:
    context.connection.execute("update shiftlock.job_runs set fence = nextval('shiftlock.fence')")
    send_one_for_each_tenant(context)


def write_and_send(context: Context) -> Mapping[str, object]:
    with context.connection.transaction():
        context.connection.execute("insert into effect (name, attempt) values ('uploaded', %s)", (context.attempt,))
        new = context.enqueue(context.connection, "child", {"image": "a.jpg"}, key="a.jpg")
        if context.attempt == 1:
            raise ConnectionError("cut before the commit")
    return {"new": new}


def tell_the_tenant(context: Context) -> Mapping[str, object]:
    if context.payload["tenant"] == "south":
        raise Fatal("the tenant has gone")
    return {"tenant": context.payload["tenant"]}
