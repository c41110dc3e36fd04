"""One run, one holder, one end: the ledger's answers to claims and endings."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import psycopg
import pytest

from handlers.guard.answers import AlreadyDone, Busy, Claimed, Exhausted, Held, NotDue, Overlap, Paused
from handlers.guard.errors import Fenced, LockKeyCollision
from handlers.guard.lock import lock_key, register
from handlers.guard.request import Ending
from handlers.guard.rescue import LostRun, rescue
from tests.guard.holders import TICK, ask, claimed, guard_on, request

SUCCESS = Ending(outcome="succeeded", status="succeeded", result={"invoices": 3})
END_LEASE = "update shiftlock.job_runs set lease_until = clock_timestamp() - interval '1 second'"
INTRUDE = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, trigger, status, fence, holder, lease_until)
values ('nightly', 'other', 5, 'rule', 'running', 99, 'intruder', clock_timestamp() + interval '1 minute')
"""
HELD_LOCKS = "select count(*) from pg_locks where locktype = 'advisory'"


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


def test_a_holder_whose_session_ended_is_reported_as_not_alive(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as second:
        with guard_on(every_server_url) as first:
            claimed(first, request())
        while ask(every_database, HELD_LOCKS):
            pass  # the server is about to notice that the client has gone
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


def test_a_run_whose_lease_ended_is_taken_over_as_attempt_2_with_a_higher_fence(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as dead:
        lost = claimed(dead, request())
    every_database.execute(END_LEASE)
    with guard_on(every_server_url) as guard:
        answer = claimed(guard, request(holder="holder-2"))
        assert (answer.attempt, answer.infra_failures) == (2, 1)
        assert answer.fence > lost.fence
    outcomes = every_database.execute("select attempt, outcome from shiftlock.job_attempts order by attempt")
    assert outcomes.fetchall() == [(1, "lost"), (2, None)]


def test_a_rescue_that_looked_before_the_last_takeover_does_nothing(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as first, guard_on(every_server_url) as second:
        old = claimed(first, request())
        every_database.execute(END_LEASE)
        claimed(second, request(holder="holder-2"))
        every_database.execute(END_LEASE)
        seen = LostRun("nightly", old.run_id, old.fence, None, None)
        assert rescue(every_database, seen, on_lost="retry", lost_budget=5) is None
    assert ask(every_database, "select status from shiftlock.job_runs") == "running"


def test_a_ghost_session_that_still_holds_the_lock_is_ended_at_takeover(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as ghost, guard_on(every_server_url) as guard:
        claimed(ghost, request())
        every_database.execute(END_LEASE)
        assert claimed(guard, request(holder="holder-2")).attempt == 2
        assert ask(every_database, HELD_LOCKS) == 1


def test_a_lost_run_of_the_job_does_not_block_its_next_tick(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as dead:
        claimed(dead, request())
    every_database.execute(END_LEASE)
    with guard_on(every_server_url) as guard:
        assert claimed(guard, request("2026-11-30T02:00Z", tick=TICK + timedelta(days=1))).attempt == 1
    assert ask(every_database, "select status from shiftlock.job_runs where run_key like '%29T%'") == "pending"


def test_a_run_lost_more_often_than_its_budget_fails(every_server_url: str, every_database: psycopg.Connection) -> None:
    for _ in range(2):
        with guard_on(every_server_url) as dead:
            claimed(dead, request(lost_budget=1))
        every_database.execute(END_LEASE)
    with guard_on(every_server_url) as guard:
        answer = guard.claim(request(lost_budget=1))
        assert isinstance(answer, Exhausted)
        assert isinstance(guard.claim(request(lost_budget=1)), AlreadyDone)
    assert ask(every_database, "select status from shiftlock.job_runs") == "failed"


def test_a_lost_run_of_a_job_on_hold_waits_for_a_person(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as dead:
        claimed(dead, request(on_lost="hold"))
    every_database.execute(END_LEASE)
    with guard_on(every_server_url) as guard:
        assert isinstance(guard.claim(request(on_lost="hold")), Held)
        assert isinstance(guard.claim(request(on_lost="hold")), Held)
    assert ask(every_database, "select status from shiftlock.job_runs") == "unknown"


def test_a_zombie_cannot_finish_the_run_of_its_successor(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as zombie, guard_on(every_server_url) as successor:
        old = claimed(zombie, request())
        every_database.execute(END_LEASE)
        new = claimed(successor, request())
        with pytest.raises(Fenced):
            zombie.finish(old, Ending(outcome="succeeded", status="succeeded", result="wrong", next_key="wrong"))
        assert ask(every_database, "select count(*) from shiftlock.job_runs") == 1
        assert ask(every_database, HELD_LOCKS) == 1
        successor.finish(new, SUCCESS)
    rows = every_database.execute("select attempt, outcome from shiftlock.job_attempts order by attempt").fetchall()
    assert rows == [(1, "fenced"), (2, "succeeded")]
    assert ask(every_database, "select result from shiftlock.job_runs") == {"invoices": 3}


def test_a_rescue_of_a_run_that_was_renewed_since_it_looked_does_nothing(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as holder:
        run = claimed(holder, request())
        every_database.execute(END_LEASE)
        seen = LostRun("nightly", run.run_id, run.fence, None, None)
        holder.renew(run, None)
        assert rescue(every_database, seen, on_lost="retry", lost_budget=5) is None
        holder.finish(run, SUCCESS)
    assert ask(every_database, "select outcome from shiftlock.job_attempts") == "succeeded"


def test_a_zombie_that_asks_twice_is_fenced_twice(every_server_url: str, every_database: psycopg.Connection) -> None:
    with guard_on(every_server_url) as zombie, guard_on(every_server_url) as successor:
        old = claimed(zombie, request())
        every_database.execute(END_LEASE)
        successor.finish(claimed(successor, request()), SUCCESS)
        for _ in range(2):
            with pytest.raises(Fenced):
                zombie.finish(old, SUCCESS)


def test_a_zombie_cannot_renew_the_lease_of_its_successor(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as zombie, guard_on(every_server_url) as successor:
        old = claimed(zombie, request())
        every_database.execute(END_LEASE)
        claimed(successor, request())
        before = ask(every_database, "select lease_until from shiftlock.job_runs")
        with pytest.raises(Fenced):
            zombie.renew(old, {"done": 1})
        assert ask(every_database, "select lease_until from shiftlock.job_runs") == before


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


def test_a_holder_that_takes_its_own_lost_run_again_leaves_no_lock(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        claimed(guard, request())
        every_database.execute(END_LEASE)
        guard.finish(claimed(guard, request()), SUCCESS)
        assert ask(every_database, HELD_LOCKS) == 0
