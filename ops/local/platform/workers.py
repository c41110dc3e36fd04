"""Make and load days, each in a transaction of its own, in this process or in several at once.

Making rows takes Python longer than PostgreSQL takes to store them: on two free cores two processes load 60 days in
7 s, one in 13 s.
"""

import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait

import psycopg

from ops.local.platform.days import COPY_ITEMS, COPY_ORDERS, COPY_SESSIONS, make_day
from ops.local.platform.restaurants import Dataset, Restaurant, make_restaurants

WRITE_DOWN_DAY = "insert into platform.loaded_days (day, orders, order_items, sessions) values (%s, %s, %s, %s)"
# A crash may take the last days with it, but never a day without its row in loaded_days: the next load adds them.
NEED_NOT_WAIT_FOR_DISK = "set synchronous_commit = off"
FEWEST_DAYS_FOR_PROCESSES = 8


class LoadFailed(RuntimeError):
    """A loading process ended before its day was stored; days stored before stay, the next load adds the rest."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"loading the platform's data: {reason}; start again to go on")


def load_days(url: str, dataset: Dataset, days: Sequence[date], *, processes: int) -> Generator[date, None, None]:
    """Load these days and yield each one once it is committed; closing it ends the processes.

    Raises LoadFailed, psycopg.Error.
    """
    if processes < 2 or len(days) < FEWEST_DAYS_FOR_PROCESSES:
        yield from _load_here(url, dataset, days)
    else:
        yield from _load_in_processes(url, dataset, days, processes)


def _load_here(url: str, dataset: Dataset, days: Sequence[date]) -> Iterator[date]:
    every = make_restaurants(dataset)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(NEED_NOT_WAIT_FOR_DISK)
        for day in days:
            _load_day(connection, dataset, every, day)
            yield day


def _load_day(connection: psycopg.Connection, dataset: Dataset, every: Sequence[Restaurant], day: date) -> None:
    made = make_day(dataset, every, day)
    with connection.transaction(), connection.cursor() as cursor:
        for statement, rows in (
            (COPY_ORDERS, made.orders),
            (COPY_ITEMS, made.items),
            (COPY_SESSIONS, made.sessions),
        ):
            with cursor.copy(statement) as copy:
                copy.write("".join(rows))
        cursor.execute(WRITE_DOWN_DAY, (day, len(made.orders), len(made.items), len(made.sessions)))


def _load_in_processes(url: str, dataset: Dataset, days: Sequence[date], processes: int) -> Iterator[date]:
    waiting = iter(days)
    with ExitStack() as stack:
        pipes = [stack.enter_context(_process(url, dataset)) for _ in range(processes)]
        try:
            busy = [pipe for pipe in pipes if _give_next(pipe, waiting)]
            while busy:
                ready = wait(busy)
                for pipe in [pipe for pipe in busy if pipe in ready]:
                    yield _stored_day(pipe)
                    if not _give_next(pipe, waiting):
                        busy.remove(pipe)
        except (EOFError, ConnectionError) as error:
            raise LoadFailed("a loading process died") from error


def _give_next(pipe: Pipe, waiting: Iterator[date]) -> bool:
    day = next(waiting, None)
    if day is not None:
        pipe.send(day)
    return day is not None


def _stored_day(pipe: Pipe) -> date:
    answer = pipe.recv()
    if not isinstance(answer, date):
        raise LoadFailed(answer)
    return answer


@contextmanager
def _process(url: str, dataset: Dataset) -> Iterator[Pipe]:
    # Spawned, not forked: the caller may have threads, whose locks a fork would copy in the state they are in.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, url, dataset), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join()


def _serve(pipe: Pipe, url: str, dataset: Dataset) -> None:
    """Load the days that come through the pipe until its owner closes the other end or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the owner closes the pipe
    every = make_restaurants(dataset)
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(NEED_NOT_WAIT_FOR_DISK)
            while True:
                day = pipe.recv()
                _load_day(connection, dataset, every, day)
                pipe.send(day)
    except psycopg.Error as error:
        pipe.send(str(error).strip().partition("\n")[0])
    except (EOFError, ConnectionError):
        return
