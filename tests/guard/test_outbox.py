"""Runs that are asked for in a transaction come with it or not at all, each key once."""

from datetime import timedelta

import psycopg
import pytest

from handlers.guard.answers import AlreadyDone, Claimed, OtherPayload
from handlers.guard.lock import lock_key
from handlers.guard.outbox import MOST_HOPS, KeyTaken, NewRun, TooManyHops, enqueue
from tests.guard.holders import SUCCESS, ask, claimed, guard_on, request

LASTS = timedelta(days=4)
HELD_BACK = timedelta(minutes=20)


@pytest.fixture
def sender(every_server_url: str) -> int:
    """The id of a run that goes on."""
    with guard_on(every_server_url) as guard:
        return claimed(guard, request()).run_id


def send(database: psycopg.Connection, sender: int, *runs: NewRun, lasts: timedelta | None = LASTS) -> int:
    return enqueue(database, "resize", runs, sender=sender, message_lasts=lasts)


def test_a_run_and_its_message_come_with_the_transaction(every_database: psycopg.Connection, sender: int) -> None:
    with every_database.transaction():
        assert send(every_database, sender, NewRun("a", {"n": 1}), NewRun("b", {"n": 2}, "north")) == 2
    rows = every_database.execute(
        "select run_key, partition, trigger, payload, status, hops, message_until > now() + interval '3 days', lock_key"
        " from shiftlock.job_runs where job_name = 'resize' order by id"
    ).fetchall()
    assert rows == [
        ("a", None, "queue", {"n": 1}, "pending", 1, True, lock_key("resize a")),
        ("b", "north", "queue", {"n": 2}, "pending", 1, True, lock_key("resize/north")),
    ]
    assert ask(every_database, "select count(*) from shiftlock.outbox where send_after <= now()") == 2


def test_a_transaction_that_is_undone_leaves_neither(every_database: psycopg.Connection, sender: int) -> None:
    with every_database.transaction(force_rollback=True):
        send(every_database, sender, NewRun("a"))
    assert ask(every_database, "select count(*) from shiftlock.outbox") == 0
    assert ask(every_database, "select count(*) from shiftlock.job_runs where job_name = 'resize'") == 0


def test_a_key_that_has_its_run_gets_no_second_one_and_no_message(
    every_database: psycopg.Connection, sender: int
) -> None:
    send(every_database, sender, NewRun("a", {"n": 1}))
    assert send(every_database, sender, NewRun("a", {"n": 1}), NewRun("b")) == 1
    assert ask(every_database, "select count(*) from shiftlock.outbox") == 2


def test_a_key_with_another_payload_is_refused_with_all_that_came_with_it(
    every_database: psycopg.Connection, sender: int
) -> None:
    send(every_database, sender, NewRun("a", {"n": 1}))
    with pytest.raises(KeyTaken, match="'a' with another payload"), every_database.transaction():
        send(every_database, sender, NewRun("b"), NewRun("a", {"n": 2}))
    assert ask(every_database, "select count(*) from shiftlock.job_runs where run_key = 'b'") == 0


def test_a_key_that_is_the_child_of_another_parent_is_refused(every_database: psycopg.Connection, sender: int) -> None:
    def send_child_of(parent: int) -> int:
        child = NewRun("sync/north/1")
        return enqueue(every_database, "resize", [child], sender=sender, parent=parent, message_lasts=None)

    assert (send_child_of(sender), send_child_of(sender)) == (1, 0)
    with pytest.raises(KeyTaken, match="or parent"):
        send_child_of(sender + 1)


def test_a_message_may_be_held_back_longer_than_any_queue_would(
    every_database: psycopg.Connection, sender: int
) -> None:
    send(every_database, sender, NewRun("a", delay=HELD_BACK))
    assert ask(every_database, "select send_after - created_at > interval '19 minutes' from shiftlock.outbox")
    assert ask(every_database, "select next_run > now() + interval '19 minutes' from shiftlock.job_runs where hops > 0")


def test_a_message_is_held_back_in_the_outbox_for_what_its_queue_does_not_see_to(
    every_database: psycopg.Connection, sender: int
) -> None:
    runs = [NewRun("a", delay=HELD_BACK)]
    enqueue(every_database, "resize", runs, sender=sender, message_lasts=LASTS, held_back=timedelta(minutes=15))
    row = every_database.execute(
        "select send_after - now() < interval '5 minutes', next_run - now() > interval '19 minutes' "
        "from shiftlock.outbox join shiftlock.job_runs on job_runs.id = run_id"
    ).fetchone()
    assert row == (True, True)


def test_without_queues_there_is_no_message_and_the_run_is_due(every_database: psycopg.Connection, sender: int) -> None:
    send(every_database, sender, NewRun("a"), lasts=None)
    assert ask(every_database, "select count(*) from shiftlock.outbox") == 0
    assert ask(every_database, "select message_until is null from shiftlock.job_runs where run_key = 'a'")


def test_a_chain_of_runs_that_send_each_other_comes_to_an_end(every_database: psycopg.Connection, sender: int) -> None:
    for number in range(MOST_HOPS):
        send(every_database, sender, NewRun(f"turn {number}"))
        row = every_database.execute("select max(id) from shiftlock.job_runs").fetchone()
        assert row is not None
        sender = row[0]
    with pytest.raises(TooManyHops, match="run number 11 of a chain"):
        send(every_database, sender, NewRun("one too many"))


def test_the_run_is_claimed_by_its_key_and_its_message_is_then_in_hand(
    every_server_url: str, every_database: psycopg.Connection, sender: int
) -> None:
    send(every_database, sender, NewRun("a", {"n": 1}))
    mine = request("a", job="resize", tick=None, trigger="queue", payload={"n": 1}, own_lock_key=lock_key("resize a"))
    with guard_on(every_server_url) as guard:
        taken = claimed(guard, mine)
        assert taken.attempt == 1
        assert ask(every_database, "select message_until is null from shiftlock.job_runs where run_key = 'a'")
        guard.finish(taken, SUCCESS)
        assert isinstance(guard.claim(mine), AlreadyDone)
        other = request("a", job="resize", tick=None, trigger="queue", payload={"n": 2})
        assert isinstance(guard.claim(other), OtherPayload)


def test_runs_of_one_job_go_on_beside_each_other_and_of_one_partition_one_at_a_time(
    every_server_url: str, every_database: psycopg.Connection, sender: int
) -> None:
    send(every_database, sender, NewRun("a"), NewRun("b"), NewRun("c", {}, "north"), NewRun("d", {}, "north"))

    def claim(key: str, partition: str | None = None) -> object:
        own = None if partition else lock_key(f"resize {key}")
        with guard_on(every_server_url) as guard:
            return guard.claim(
                request(key, job="resize", tick=None, trigger="queue", partition=partition, own_lock_key=own)
            )

    assert [isinstance(claim(key), Claimed) for key in "ab"] == [True, True]
    assert [isinstance(claim(key, "north"), Claimed) for key in "cd"] == [True, False]
