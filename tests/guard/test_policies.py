"""What the ledger does when runs meet, and what a person may do to a run."""

from datetime import timedelta

import psycopg
import pytest

from handlers.guard.answers import AlreadyDone, Claimed, OtherPayload, Overlap, Queued
from handlers.guard.intervene import CannotIntervene, Verdict, cancel, resolve, retry
from handlers.guard.lock import register
from handlers.guard.request import ClaimRequest, Ending
from tests.guard.holders import TICK, ask, claimed, guard_on, request

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


def test_a_pending_run_is_cancelled_at_once(every_server_url: str, every_database: psycopg.Connection) -> None:
    with guard_on(every_server_url) as guard:
        run = claimed(guard, request())
        guard.finish(run, AGAIN)
        assert cancel(every_database, run.run_id, "not needed") == "cancelled"
        assert isinstance(guard.claim(request()), AlreadyDone)
    assert ask(every_database, "select error_msg from shiftlock.job_runs") == "not needed"


def test_the_holder_of_a_cancelled_run_hears_of_it_with_its_next_heartbeat(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        run = claimed(guard, request())
        assert guard.renew(run, None) is None
        assert cancel(every_database, run.run_id, "not needed") == "asked"
        assert guard.renew(run, None) == "not needed"


def test_a_cancelled_run_that_fails_meanwhile_is_not_tried_again(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        run = claimed(guard, request())
        cancel(every_database, run.run_id, "not needed")
        guard.finish(run, AGAIN)
    assert ask(every_database, "select status from shiftlock.job_runs") == "cancelled"


def test_a_cancelled_run_whose_holder_died_ends_cancelled(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as dead:
        run = claimed(dead, request())
    cancel(every_database, run.run_id, "not needed")
    every_database.execute(END_LEASE)
    with guard_on(every_server_url) as guard:
        answer = guard.claim(request())
        assert isinstance(answer, AlreadyDone)
        assert answer.status == "cancelled"


def test_a_run_that_has_ended_cannot_be_cancelled(every_server_url: str, every_database: psycopg.Connection) -> None:
    with guard_on(every_server_url) as guard:
        run = claimed(guard, request())
        guard.finish(run, SUCCESS)
    with pytest.raises(CannotIntervene, match=r"run 1 is succeeded: only pending and running runs"):
        cancel(every_database, run.run_id, "too late")
    with pytest.raises(CannotIntervene, match="run 99 does not exist"):
        cancel(every_database, 99, "no such run")


@pytest.mark.parametrize(
    ("verdict", "status"), [("succeeded", "succeeded"), ("failed", "failed"), ("retry", "pending")]
)
def test_an_unknown_run_becomes_what_a_person_says(
    every_server_url: str, every_database: psycopg.Connection, verdict: Verdict, status: str
) -> None:
    held = Ending(outcome="timed_out", status="unknown")
    with guard_on(every_server_url) as guard:
        run = claimed(guard, request())
        guard.finish(run, held)
        resolve(every_database, run.run_id, verdict, "looked at the bank's site")
        row = every_database.execute("select status, error_msg from shiftlock.job_runs").fetchone()
        assert row == (status, "looked at the bank's site")
        with pytest.raises(CannotIntervene, match="only unknown runs"):
            resolve(every_database, run.run_id, verdict, "twice")
        assert isinstance(guard.claim(request()), Claimed if verdict == "retry" else AlreadyDone)


def test_a_failed_run_is_due_again_when_a_person_says_so(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        run = claimed(guard, request())
        guard.finish(run, Ending(outcome="failed", status="failed"))
        retry(every_database, run.run_id)
        assert claimed(guard, request()).attempt == 2
        with pytest.raises(CannotIntervene, match="run 1 is running"):
            retry(every_database, run.run_id)


def test_two_runs_that_waited_and_were_cancelled_can_both_be_tried_again(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        claimed(first, tick(0, "queue"))
        for number in (1, 2):
            assert isinstance(second.claim(tick(number, "queue")), Queued)
            cancel(every_database, number_of(every_database, f"tick {number}"), "not needed")
    for number in (1, 2):
        retry(every_database, number_of(every_database, f"tick {number}"))
    assert ask(every_database, "select count(*) from shiftlock.job_runs where status = 'pending'") == 2


def test_a_resolved_run_is_not_told_to_end_for_an_old_wish(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        run = claimed(guard, request())
        cancel(every_database, run.run_id, "not needed")
        guard.finish(run, Ending(outcome="timed_out", status="unknown"))
        resolve(every_database, run.run_id, "retry", "it had no effect")
        assert guard.renew(claimed(guard, request()), None) is None


def number_of(database: psycopg.Connection, run_key: str) -> int:
    row = database.execute("select id from shiftlock.job_runs where run_key = %s", (run_key,)).fetchone()
    assert row is not None
    return int(row[0])


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
