"""What the ledger does when runs meet."""

from datetime import timedelta

import psycopg
import pytest

from handlers.guard.answers import AlreadyDone, OtherPayload, Overlap, Queued
from handlers.guard.lock import register
from handlers.guard.request import ClaimRequest, Ending
from tests.guard.holders import TICK, claimed, guard_on, request

FIRST = TICK - timedelta(days=10)
SUCCESS = Ending(outcome="succeeded", status="succeeded")
AGAIN = Ending(outcome="failed", status="pending", error="ValueError: no")
END_LEASE = (
    "update shiftlock.job_runs set lease_until = clock_timestamp() - interval '1 second' where status = 'running'"
)
STATUSES = "select run_key, status, skip_reason from shiftlock.job_runs order by id"


def tick(number: int, overlap: str, **changes: object) -> ClaimRequest:
    """A claim of the tick so many days after the first."""
    return request(f"tick {number}", tick=FIRST + timedelta(days=number), overlap=overlap, **changes)


def test_with_queue_one_tick_waits_and_the_ones_after_it_are_skipped(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        run = claimed(first, tick(0, "queue"))
        assert second.claim(tick(1, "queue")) == Queued("tick 0")
        assert isinstance(second.claim(tick(2, "queue")), Overlap)
        assert second.claim(tick(1, "queue")) == Queued("tick 0")
        assert every_database.execute(STATUSES).fetchall() == [
            ("tick 0", "running", None),
            ("tick 1", "pending", None),
            ("tick 2", "skipped", "overlap"),
        ]
        first.finish(run, SUCCESS)
        waiting = first.next_in_line(run.lock_key)
        assert waiting is not None
        assert (waiting.run_key, waiting.tick) == ("tick 1", FIRST + timedelta(days=1))
        assert claimed(first, tick(1, "queue")).attempt == 1
        assert first.next_in_line(run.lock_key) is None
        assert second.claim(tick(3, "queue")) == Queued("tick 1")


def test_with_replace_an_older_tick_gives_way_and_a_newer_one_does_not(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        run = claimed(first, tick(1, "replace"))
        older = second.claim(tick(0, "replace"))
        assert isinstance(older, Overlap)
        assert older.newer
        newer = second.claim(tick(2, "replace"))
        assert isinstance(newer, Overlap)
        assert not newer.newer
        second.ask_to_stop(newer.other_run_id, "replaced by run tick 2")
        assert first.renew(run, None) == "replaced by run tick 2"
    assert every_database.execute(STATUSES).fetchall() == [
        ("tick 1", "running", None),
        ("tick 0", "skipped", "superseded"),
    ]


def test_partitions_of_a_job_run_beside_each_other_and_each_alone(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        one = claimed(first, request("a", partition="restaurant-1"))
        two = claimed(second, request("b", partition="restaurant-2"))
        assert one.lock_key != two.lock_key
        assert isinstance(second.claim(request("c", partition="restaurant-1")), Overlap)
    owners = {owner for (owner,) in every_database.execute("select owner from shiftlock.lock_keys")}
    assert owners == {"nightly", "nightly/restaurant-1", "nightly/restaurant-2"}


def test_the_same_key_with_another_payload_is_refused_whatever_the_run_is_at(every_server_url: str) -> None:
    with guard_on(every_server_url) as guard, guard_on(every_server_url) as other:
        run = claimed(guard, request(payload={"amount": 1}))
        assert other.claim(request(payload={"amount": 2})) == OtherPayload(run.run_id)
        guard.finish(run, AGAIN)
        assert other.claim(request(payload={"amount": 2})) == OtherPayload(run.run_id)
        run = claimed(guard, request(payload={"amount": 1}))
        guard.finish(run, SUCCESS)
        assert other.claim(request(payload={"amount": 2})) == OtherPayload(run.run_id)
        assert isinstance(other.claim(request(payload={"amount": 1})), AlreadyDone)


def test_a_ghosts_open_transaction_is_ended_with_its_session_at_takeover(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    """The frozen holder is in the middle of a step: its row locks would hold up its successor for ever."""
    from handlers.guard.connection import open_connection, work_session

    with guard_on(every_server_url) as ghost, guard_on(every_server_url) as guard:
        run = claimed(ghost, request())
        name = work_session("nightly", run.run_id, run.fence)
        with open_connection(lambda: every_server_url, name=name, settings={}) as work:
            work.execute("begin")
            work.execute("lock table shiftlock.run_steps")
            every_database.execute(END_LEASE)
            claimed(guard, request())
            every_database.execute("select count(*) from shiftlock.run_steps")
            with pytest.raises(psycopg.OperationalError):
                work.execute("select 1")


@pytest.mark.parametrize("trigger", ["catch-up", "retry"])
def test_what_makes_up_for_a_tick_or_is_owed_stays_due_when_it_meets_another_run(
    every_server_url: str, every_database: psycopg.Connection, trigger: str
) -> None:
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        run = claimed(first, tick(1, "skip"))
        every_database.execute(
            "insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status) "
            "select job_name, 'tick 0', lock_key, tick, 'plan', 'pending' from shiftlock.job_runs"
        )
        assert isinstance(second.claim(tick(0, "skip", trigger=trigger)), Overlap)
        assert ("tick 0", "pending", None) in every_database.execute(STATUSES).fetchall()
        first.finish(run, SUCCESS)
        assert claimed(second, tick(0, "skip", trigger=trigger)).attempt == 1


def test_an_owed_run_that_meets_another_is_not_waited_for_by_those_who_called_it(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    register(every_database, ["nightly"])
    every_database.execute(
        "insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, attempt, called_at)"
        " select name, 'tick 1', lock_key, %s, 'rule', 'pending', 1, now() from shiftlock.jobs",
        [FIRST + timedelta(days=1)],
    )
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        claimed(first, tick(2, "skip"))
        assert isinstance(second.claim(tick(1, "skip", trigger="retry")), Overlap)
    row = every_database.execute("select status, called_at from shiftlock.job_runs where run_key = 'tick 1'").fetchone()
    assert row == ("pending", None)
