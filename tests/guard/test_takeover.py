"""A lease that ended: who takes the run over, what a rescue does, and how the former holder is fenced."""

from datetime import timedelta

import psycopg
import pytest

from handlers.guard.answers import AlreadyDone, Exhausted, Held
from handlers.guard.errors import Fenced
from handlers.guard.request import Ending
from handlers.guard.rescue import LostRun, rescue
from tests.guard.holders import END_LEASE, HELD_LOCKS, SUCCESS, TICK, ask, claimed, guard_on, request


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


def test_a_holder_that_takes_its_own_lost_run_again_leaves_no_lock(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        claimed(guard, request())
        every_database.execute(END_LEASE)
        guard.finish(claimed(guard, request()), SUCCESS)
        assert ask(every_database, HELD_LOCKS) == 0
