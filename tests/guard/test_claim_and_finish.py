"""One run, one holder, one end: the ledger's answers to claims and endings."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import psycopg
import pytest

from handlers.guard.answers import AlreadyDone, Busy, Claimed, NotDue, Overlap, Paused
from handlers.guard.errors import LockKeyCollision
from handlers.guard.lock import lock_key, register
from handlers.guard.request import Ending
from tests.guard.holders import HELD_LOCKS, SUCCESS, TICK, ask, claimed, guard_on, request

INTRUDE = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, trigger, status, fence, holder, lease_until)
values ('nightly', 'other', 5, 'rule', 'running', 99, 'intruder', clock_timestamp() + interval '1 minute')
"""


def test_the_first_claim_of_a_tick_gets_attempt_1_and_the_lock(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        answer = claimed(guard, request())
        assert (answer.attempt, answer.lock_key, answer.tick) == (1, lock_key("nightly"), TICK)
        assert ask(every_database, HELD_LOCKS) == 1
    assert ask(every_database, "select status from shiftlock.job_runs") == "running"


def test_claim_and_finish_take_one_round_trip_each(every_server_url: str, tmp_path: Path) -> None:
    with guard_on(every_server_url) as guard:
        claimed(guard, request("registers the job", own_lock_key=1))
        with (tmp_path / "wire").open("w") as wire:
            pgconn = guard._usable(None)[0].connection.pgconn
            pgconn.trace(wire.fileno())
            guard.finish(claimed(guard, request()), SUCCESS)
            pgconn.untrace()
        assert (tmp_path / "wire").read_text().count("\tSync") == 2


def test_a_finished_run_is_recorded_and_plans_the_next_tick(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    next_tick = TICK + timedelta(days=1)
    ending = Ending(
        outcome="succeeded", status="succeeded", result={"invoices": 3}, next_key="next", next_tick=next_tick
    )
    with guard_on(every_server_url) as guard:
        guard.finish(claimed(guard, request()), ending)
        assert ask(every_database, HELD_LOCKS) == 0
    rows = every_database.execute("select run_key, status, result, next_run from shiftlock.job_runs order by id")
    done, planned = rows.fetchall()
    assert done[:3] == ("2026-11-29T02:00Z", "succeeded", {"invoices": 3})
    assert (planned[0], planned[1], planned[3]) == ("next", "pending", next_tick)
    assert every_database.execute("select attempt, outcome from shiftlock.job_attempts").fetchall() == [
        (1, "succeeded")
    ]


def test_a_duplicate_of_a_finished_run_gets_the_stored_result_and_writes_nothing(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        guard.finish(claimed(guard, request()), SUCCESS)
        before = every_database.execute("select xmin::text, * from shiftlock.job_runs").fetchall()
        answer = guard.claim(request(holder="holder-2"))
        assert isinstance(answer, AlreadyDone)
        assert (answer.status, answer.result) == ("succeeded", {"invoices": 3})
    assert every_database.execute("select xmin::text, * from shiftlock.job_runs").fetchall() == before
    assert ask(every_database, HELD_LOCKS) == 0


def test_a_duplicate_of_a_running_run_hears_who_holds_it(every_server_url: str) -> None:
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        claimed(first, request())
        answer = second.claim(request(holder="holder-2"))
        assert isinstance(answer, Busy)
        assert (answer.holder, answer.alive) == ("holder-1", True)
        assert 0 < answer.lease_left <= 30


def test_a_holder_whose_session_ended_is_reported_as_not_alive(every_server_url: str) -> None:
    with guard_on(every_server_url) as second:
        with guard_on(every_server_url) as first:
            claimed(first, request())
        answer = second.claim(request(holder="holder-2"))
        assert isinstance(answer, Busy)
        assert not answer.alive


def test_another_tick_of_the_same_job_overlaps_and_is_skipped_with_its_row(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        claimed(first, request())
        answer = second.claim(request("2026-11-30T02:00Z", tick=TICK + timedelta(days=1)))
        assert answer == Overlap(1, "2026-11-29T02:00Z", "holder-1", newer=False)
    row = every_database.execute("select status, skip_reason from shiftlock.job_runs where run_key like '%30T%'")
    assert row.fetchone() == ("skipped", "overlap")


def test_runs_with_lock_keys_of_their_own_may_overlap(every_server_url: str) -> None:
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        claimed(first, request(own_lock_key=1))
        claimed(second, request("2026-11-30T02:00Z", own_lock_key=2))


def test_the_database_itself_refuses_two_running_rows_of_one_lock_key(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        claimed(guard, request(own_lock_key=5))
    with pytest.raises(psycopg.errors.UniqueViolation, match="one_running_per_lock_key"):
        every_database.execute(INTRUDE)


def test_finishing_twice_after_a_lost_answer_is_no_fence(every_server_url: str) -> None:
    with guard_on(every_server_url) as guard:
        run = claimed(guard, request())
        guard.finish(run, SUCCESS)
        guard.finish(run, SUCCESS)


def test_a_failed_attempt_waits_for_its_backoff_then_goes_on_as_attempt_2(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    later = Ending(outcome="failed", status="pending", error="ValueError: no", retry_in=timedelta(minutes=5))
    with guard_on(every_server_url) as guard:
        guard.finish(claimed(guard, request()), later)
        assert isinstance(guard.claim(request()), NotDue)
        every_database.execute("update shiftlock.job_runs set next_run = clock_timestamp()")
        answer = claimed(guard, request())
        assert (answer.attempt, answer.infra_failures) == (2, 0)


def test_a_person_may_start_a_waiting_run_before_its_time(every_server_url: str) -> None:
    later = Ending(outcome="failed", status="pending", retry_in=timedelta(minutes=5))
    with guard_on(every_server_url) as guard:
        guard.finish(claimed(guard, request()), later)
        assert claimed(guard, request(trigger="manual")).attempt == 2


def test_a_tick_of_a_paused_job_is_skipped_but_a_person_may_run_it(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    register(every_database, ["nightly"])
    every_database.execute("update shiftlock.jobs set paused_at = clock_timestamp()")
    with guard_on(every_server_url) as guard:
        assert isinstance(guard.claim(request()), Paused)
        claimed(guard, request("by hand", tick=None, trigger="manual"))
    assert ask(every_database, "select skip_reason from shiftlock.job_runs where tick is not null") == "paused"


def test_a_lock_key_that_another_job_owns_is_refused(every_database: psycopg.Connection) -> None:
    other = "insert into shiftlock.lock_keys (owner, lock_key) values ('other', %s)"
    every_database.execute(other, (lock_key("nightly"),))
    with pytest.raises(LockKeyCollision, match="nightly"):
        register(every_database, ["nightly"])


@pytest.mark.parametrize("name", ["nightly", "billing-run"])
def test_a_lock_key_is_what_the_database_computes_from_the_same_name(database: psycopg.Connection, name: str) -> None:
    query = "select ('x' || left(encode(sha256(convert_to(%s, 'UTF8')), 'hex'), 16))::bit(64)::bigint"
    assert database.execute(query, (name,)).fetchone() == (lock_key(name),)


@pytest.mark.parametrize(
    ("status", "forbidden"), [("succeeded", "running"), ("succeeded", "pending"), ("failed", "running")]
)
def test_the_database_refuses_a_move_that_no_policy_makes(
    every_server_url: str, every_database: psycopg.Connection, status: str, forbidden: str
) -> None:
    with guard_on(every_server_url) as guard:
        run = claimed(guard, request())
        guard.finish(run, Ending(outcome="failed", status=status))  # type: ignore[arg-type]  # both are statuses
    with pytest.raises(psycopg.errors.CheckViolation, match=f"cannot go from {status} to {forbidden}"):
        every_database.execute("update shiftlock.job_runs set status = %s, finished_at = null", (forbidden,))


def test_a_claim_that_another_run_beat_to_the_row_leaves_no_lock(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    """As behind a transaction pooler: the other run's row comes in between, without the lock.

    The statement is undone, but a session lock taken in it is not.
    """
    register(every_database, ["nightly"])
    with guard_on(every_server_url) as guard, psycopg.connect(every_server_url) as intruder:
        intruder.execute(INTRUDE)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(guard.claim, request(own_lock_key=5))
            while not ask(every_database, "select count(*) from pg_locks where not granted"):
                assert not answer.done(), answer.result()
            intruder.commit()
            overlap = answer.result()
            assert isinstance(overlap, Overlap)
            assert overlap.other_run_key == "other"
        assert ask(every_database, HELD_LOCKS) == 0


def test_of_twenty_claims_at_once_exactly_one_wins(every_server_url: str, every_database: psycopg.Connection) -> None:
    start, end = Barrier(20), Barrier(20)

    def one(number: int) -> object:
        with guard_on(every_server_url) as guard:
            start.wait()
            answer = guard.claim(request(holder=f"holder-{number}"))
            end.wait()
            return answer

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    assert sum(isinstance(answer, Claimed) for answer in answers) == 1
    assert sum(isinstance(answer, Busy) for answer in answers) == 19
    assert ask(every_database, "select count(*) from shiftlock.job_attempts") == 1
