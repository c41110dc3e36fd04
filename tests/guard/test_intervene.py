"""What a person may do to a run: cancel it, try it again, or say what became of it."""

import psycopg
import pytest

from handlers.guard.answers import AlreadyDone, Claimed, Queued
from handlers.guard.intervene import CannotIntervene, Verdict, cancel, resolve, retry
from handlers.guard.request import Ending
from tests.guard.holders import ask, claimed, guard_on, request

SUCCESS = Ending(outcome="succeeded", status="succeeded")
AGAIN = Ending(outcome="failed", status="pending", error="ValueError: no")
END_LEASE = (
    "update shiftlock.job_runs set lease_until = clock_timestamp() - interval '1 second' where status = 'running'"
)


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
        claimed(first, request("at work"))
        for key in ("waits", "waits too"):
            assert isinstance(second.claim(request(key, overlap="queue")), Queued)
            cancel(every_database, number_of(every_database, key), "not needed")
    for key in ("waits", "waits too"):
        retry(every_database, number_of(every_database, key))
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
