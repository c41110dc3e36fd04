"""A holder that is known to be dead: its run is lost at once, once, and never another's."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg
import pytest

from handlers.guard.bury import Burial, bury, explain_loss, held_by
from handlers.guard.intervene import resolve
from handlers.guard.request import Ending
from handlers.guard.rescue import NO_HEARTBEAT, LostRun, rescue
from tests.guard.holders import END_LEASE, ask, claimed, guard_on, request

TASK = "fargate:0a1b2c"
OOM = "exit code 137, EssentialContainerExited: OutOfMemoryError: Container killed due to memory usage"
RUN = "select status, attempt, infra_failures, error_msg, holder, lease_until from shiftlock.job_runs"
ATTEMPTS = "select attempt, outcome, error from shiftlock.job_attempts order by attempt"
EVERYTHING = "select run.xmin::text, attempt.xmin::text from shiftlock.job_runs run, shiftlock.job_attempts attempt"


def buried(
    database: psycopg.Connection, compute: str = TASK, *, on_lost: str = "retry", budget: int = 5
) -> Burial | None:
    """What came of burying whoever holds a run there; somebody must."""
    held = held_by(database, compute)
    assert held is not None
    return bury(database, held, error=OOM, on_lost=on_lost, lost_budget=budget)


def test_a_dead_holders_run_is_lost_with_its_reason_without_waiting_for_the_lease_and_the_next_claim_is_attempt_2(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as dead:
        claimed(dead, request(compute=TASK))
    assert buried(every_database) == Burial("nightly", 1, "pending")
    assert every_database.execute(RUN).fetchone() == ("pending", 1, 1, OOM, None, None)
    assert every_database.execute(ATTEMPTS).fetchall() == [(1, "lost", OOM)]
    assert ask(every_database, "select next_run <= clock_timestamp() from shiftlock.job_runs") is True
    with guard_on(every_server_url) as successor:
        answer = claimed(successor, request(holder="holder-2"))
    assert (answer.attempt, answer.infra_failures) == (2, 1)


def test_a_session_that_a_dead_holder_left_open_is_ended(database_url: str, database: psycopg.Connection) -> None:
    with guard_on(database_url) as dead, guard_on(database_url) as successor:
        claimed(dead, request(compute=TASK))
        assert buried(database) is not None
        claimed(successor, request(holder="holder-2"))  # the ghost's advisory lock would be in the way


def test_nobody_holds_a_run_on_a_task_that_has_ended_its_attempt(
    database_url: str, database: psycopg.Connection
) -> None:
    with guard_on(database_url) as guard:
        guard.finish(claimed(guard, request(compute=TASK)), Ending(outcome="failed", status="pending"))
    assert held_by(database, TASK) is None


def test_nobody_holds_a_run_that_another_has_taken_over(database_url: str, database: psycopg.Connection) -> None:
    with guard_on(database_url) as frozen, guard_on(database_url) as successor:
        claimed(frozen, request(compute=TASK))
        database.execute(END_LEASE)
        claimed(successor, request(compute="fargate:other", holder="holder-2"))
        assert held_by(database, TASK) is None
        other = held_by(database, "fargate:other")
        assert other is not None
        assert other.run_id == 1


def test_a_run_that_was_taken_over_since_it_was_seen_is_left_alone(
    database_url: str, database: psycopg.Connection
) -> None:
    with guard_on(database_url) as frozen, guard_on(database_url) as successor:
        claimed(frozen, request(compute=TASK))
        seen = held_by(database, TASK)
        assert seen is not None
        database.execute(END_LEASE)
        claimed(successor, request(compute="fargate:other", holder="holder-2"))
        assert bury(database, seen, error=OOM, on_lost="retry", lost_budget=5) is None
        assert database.execute(ATTEMPTS).fetchall() == [(1, "lost", NO_HEARTBEAT), (2, None, None)]
        assert ask(database, "select status from shiftlock.job_runs") == "running"


def test_of_two_who_bury_at_once_one_writes(every_server_url: str, every_database: psycopg.Connection) -> None:
    with guard_on(every_server_url) as dead:
        claimed(dead, request(compute=TASK))
    together = Barrier(2)

    def one(number: int) -> Burial | None:
        with psycopg.connect(every_server_url, autocommit=True) as connection:
            held = held_by(connection, TASK)
            together.wait(60)
            assert held is not None
            return bury(connection, held, error=f"told by {number}", on_lost="retry", lost_budget=5)

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(one, range(2)))
    assert sorted(end is None for end in ends) == [False, True]
    assert ask(every_database, "select infra_failures from shiftlock.job_runs") == 1
    first = next(number for number, end in enumerate(ends) if end is not None)
    assert every_database.execute(ATTEMPTS).fetchall() == [(1, "lost", f"told by {first}")]


@pytest.mark.parametrize(
    ("on_lost", "budget", "status"), [("hold", 5, "unknown"), ("retry", 0, "failed"), ("retry", 1, "pending")]
)
def test_what_follows_is_what_the_job_says_of_losses(
    database_url: str, database: psycopg.Connection, on_lost: str, budget: int, status: str
) -> None:
    with guard_on(database_url) as dead:
        claimed(dead, request(compute=TASK))
    assert buried(database, on_lost=on_lost, budget=budget) == Burial("nightly", 1, status)
    assert database.execute("select status, error_msg from shiftlock.job_runs").fetchone() == (status, OOM)


def test_a_run_that_somebody_wanted_to_end_is_cancelled(database_url: str, database: psycopg.Connection) -> None:
    with guard_on(database_url) as dead:
        claimed(dead, request(compute=TASK))
    database.execute("update shiftlock.job_runs set cancel_reason = 'not today'")
    assert buried(database) == Burial("nightly", 1, "cancelled")


def lose_by_lease(url: str, database: psycopg.Connection, compute: str, *, on_lost: str = "retry") -> None:
    """Let an attempt be lost, with nobody to say why."""
    with guard_on(url) as dead:
        lost = claimed(dead, request(compute=compute))
    database.execute(END_LEASE)
    seen = LostRun("nightly", lost.run_id, lost.fence, None, None)
    assert rescue(database, seen, on_lost=on_lost, lost_budget=5) is not None


def test_a_loss_that_the_lease_alone_has_noticed_gets_its_reason_once(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    lose_by_lease(every_server_url, every_database, TASK)
    assert explain_loss(every_database, 1, compute=TASK, error=OOM)
    assert every_database.execute(RUN).fetchone() == ("pending", 1, 1, OOM, None, None)
    assert every_database.execute(ATTEMPTS).fetchall() == [(1, "lost", OOM)]
    before = every_database.execute(EVERYTHING).fetchall()
    assert not explain_loss(every_database, 1, compute=TASK, error="another reason")
    assert every_database.execute(EVERYTHING).fetchall() == before


def test_a_reason_for_an_earlier_loss_is_not_told_as_that_of_the_last(
    database_url: str, database: psycopg.Connection
) -> None:
    lose_by_lease(database_url, database, TASK)
    lose_by_lease(database_url, database, "fargate:other")
    assert explain_loss(database, 1, compute=TASK, error=OOM)
    assert database.execute(ATTEMPTS).fetchall() == [(1, "lost", OOM), (2, "lost", NO_HEARTBEAT)]
    assert ask(database, "select error_msg from shiftlock.job_runs") == NO_HEARTBEAT


def test_a_reason_comes_in_time_while_the_next_attempt_goes_on(database_url: str, database: psycopg.Connection) -> None:
    lose_by_lease(database_url, database, TASK)
    with guard_on(database_url) as successor:
        claimed(successor, request(holder="holder-2"))
        assert explain_loss(database, 1, compute=TASK, error=OOM)
    assert database.execute("select status, error_msg from shiftlock.job_runs").fetchone() == ("running", OOM)


def test_what_a_person_has_said_of_the_run_since_stays(database_url: str, database: psycopg.Connection) -> None:
    lose_by_lease(database_url, database, TASK, on_lost="hold")
    resolve(database, 1, "succeeded", "seen in the bank's list")
    assert explain_loss(database, 1, compute=TASK, error=OOM)
    assert database.execute(ATTEMPTS).fetchall() == [(1, "lost", OOM)]
    assert ask(database, "select error_msg from shiftlock.job_runs") == "seen in the bank's list"


def test_an_attempt_that_ended_otherwise_is_no_loss_to_explain(database_url: str, database: psycopg.Connection) -> None:
    with guard_on(database_url) as guard:
        guard.finish(
            claimed(guard, request(compute=TASK)), Ending(outcome="failed", status="failed", error=NO_HEARTBEAT)
        )
    assert not explain_loss(database, 1, compute=TASK, error=OOM)
    assert database.execute(ATTEMPTS).fetchall() == [(1, "failed", NO_HEARTBEAT)]


def test_a_run_that_is_left_to_its_children_does_not_die_with_the_process_that_has_left_it(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        parent = claimed(guard, request(compute=TASK))
        seen_at_work = held_by(every_database, TASK)
        assert seen_at_work is not None
        guard.finish(parent, Ending(outcome="succeeded", status="running", may_fail=0.0))
    assert held_by(every_database, TASK) is None
    assert bury(every_database, seen_at_work, error=OOM, on_lost="retry", lost_budget=5) is None
    assert ask(every_database, "select holder from shiftlock.job_runs") == "its children"
