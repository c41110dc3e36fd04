"""A job whose statement is answered while nothing comes through, though the guard's own session is well."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Thread

import psycopg

from handlers.guard.once import Guard
from handlers.runtime.context import Context
from handlers.runtime.logs import open_log
from handlers.runtime.observer import RunFacts
from handlers.runtime.stop import Stop
from tests.faults.proxy import Proxy
from tests.guard.holders import claimed, request

LEASE = timedelta(seconds=0.5)
LOCK, UNLOCK = "select pg_advisory_lock(1234, 1)", "select pg_advisory_unlock(1234, 1)"
WAITS = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
END = "select pg_terminate_backend(pid) from pg_locks where not granted"
PAUSE = "select pg_sleep(0.02)"


@contextmanager
def job_behind(proxy: Proxy, url: str) -> Iterator[tuple[Context, Thread]]:
    """The context of a job that waits for a lock by way of the proxy; its guard goes directly to the server."""
    ways = iter([url, proxy.through(url)])
    with Guard(lambda: next(ways), lease=timedelta(minutes=1), name="test guard") as guard:
        run = claimed(guard, request())
        guard.lease = LEASE
        context = Context(RunFacts("nightly", "key", None, "rule", 1, 1), run, guard, Stop(), open_log())
        context.connection.execute("select 1")

        def work() -> None:
            with suppress(psycopg.OperationalError):
                context.connection.execute(LOCK)

        thread = Thread(target=work)
        thread.start()
        try:
            yield context, thread
        finally:
            proxy.cut("reset")
            thread.join()


def test_a_statement_that_goes_on_is_waited_for_and_one_whose_answer_is_lost_is_not(
    database_url: str, database: psycopg.Connection
) -> None:
    database.execute(LOCK)
    with Proxy(database_url) as proxy, job_behind(proxy, database_url) as (context, thread):
        while database.execute(WAITS).fetchone() != (1,):
            assert thread.is_alive()
        for _ in range(2 * int(LEASE / timedelta(seconds=0.02))):
            assert context.lost_answer() is None
            database.execute(PAUSE)
        proxy.cut("silence")
        database.execute(UNLOCK)
        while (said := context.lost_answer()) is None:
            assert thread.is_alive()
            database.execute(PAUSE)
        assert said.startswith("the server has answered the job's statement")


def test_a_session_that_the_server_has_ended_answers_nothing_any_more(
    database_url: str, database: psycopg.Connection
) -> None:
    database.execute(LOCK)
    with Proxy(database_url) as proxy, job_behind(proxy, database_url) as (context, thread):
        while database.execute(WAITS).fetchone() != (1,):
            assert thread.is_alive()
        proxy.cut("silence")
        database.execute(END)
        while context.lost_answer() is None:
            assert thread.is_alive()
            database.execute(PAUSE)


def test_a_job_that_asks_nothing_waits_for_no_answer(database_url: str) -> None:
    with Guard(lambda: database_url, lease=timedelta(milliseconds=500), name="test guard") as guard:
        run = claimed(guard, request())
        context = Context(RunFacts("nightly", "key", None, "rule", 1, 1), run, guard, Stop(), open_log())
        assert context.lost_answer() is None
        context.connection.execute("select 1")
        assert context.connection.waits_since is None
        assert context.lost_answer() is None
        context.close()
