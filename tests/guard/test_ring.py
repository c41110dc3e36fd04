"""Runs that wait without a message get one, once."""

from datetime import timedelta

import psycopg
import pytest

from handlers.guard.lock import lock_key
from handlers.guard.outbox import NewRun, enqueue
from handlers.guard.ring import ring, ring_next
from tests.guard.holders import ask, claimed, guard_on, request

LASTS = {"resize": timedelta(days=4)}
OUTBOX = "select count(*) from shiftlock.outbox"


@pytest.fixture
def parked(every_server_url: str, every_database: psycopg.Connection) -> list[int]:
    """The ids of three runs of one partition that wait without a message."""
    with guard_on(every_server_url) as guard:
        sender = claimed(guard, request()).run_id
    runs = [NewRun(key, {}, "north") for key in "abc"]
    enqueue(every_database, "resize", runs, sender=sender, message_lasts=None)
    rows = every_database.execute("select id from shiftlock.job_runs where job_name = 'resize' order by id")
    return [run_id for (run_id,) in rows]


def test_a_run_without_a_message_is_rung_for_once(every_database: psycopg.Connection, parked: list[int]) -> None:
    assert ring(every_database, parked[:2], LASTS) == set(parked[:2])
    assert ring(every_database, parked, LASTS) == {parked[2]}
    assert ask(every_database, OUTBOX) == 3
    assert ask(
        every_database,
        "select bool_and(message_until > now() + interval '3 days') from shiftlock.job_runs where trigger = 'queue'",
    )


def test_a_message_that_has_had_its_time_is_sent_again(every_database: psycopg.Connection, parked: list[int]) -> None:
    ring(every_database, parked, LASTS)
    every_database.execute("update shiftlock.job_runs set message_until = now() - interval '1 s' where run_key = 'b'")
    assert ring(every_database, parked, LASTS) == {parked[1]}


def test_a_run_that_goes_on_or_has_ended_is_not_rung_for(every_database: psycopg.Connection, parked: list[int]) -> None:
    every_database.execute(
        "update shiftlock.job_runs set status = 'cancelled', finished_at = now() where run_key in ('a', 'b', 'c')"
    )
    assert ring(every_database, parked, LASTS) == set()
    assert ask(every_database, OUTBOX) == 0


def test_the_one_that_has_waited_longest_for_its_partition_is_next(
    every_database: psycopg.Connection, parked: list[int]
) -> None:
    key = lock_key("resize/north")
    assert [ring_next(every_database, key, LASTS) for _ in range(4)] == [{run_id} for run_id in parked] + [set()]
    assert ring_next(every_database, lock_key("resize/south"), LASTS) == set()
