"""A run that waits for its children is ended by the last of them, once, whoever looks."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from handlers.guard.answers import Overlap
from handlers.guard.children import PROGRESS, Settled, settle, settle_all
from handlers.guard.outbox import NewRun, enqueue
from handlers.guard.request import Ending
from handlers.guard.rescue import LostRun, rescue
from tests.guard.holders import ask, claimed, guard_on, request
from tests.guard.parents import Waits, end, send

PARENT = (
    "select status, result, error_msg, progress, holder from shiftlock.job_runs where run_key = '2026-11-29T02:00Z'"
)
END_ONE = "update shiftlock.job_runs set status = 'cancelled', finished_at = clock_timestamp() where run_key = %s"


def test_it_stays_running_without_a_process_until_the_last_child_has_ended(
    waits: Waits, every_database: psycopg.Connection
) -> None:
    parent = waits(2)
    end(every_database, "succeeded", "c0")
    assert settle(every_database, parent) == []
    assert every_database.execute(PARENT).fetchone() == ("running", {"days": 1}, None, None, "its children")
    end(every_database, "succeeded", "c1")
    assert settle(every_database, parent) == [Settled(parent, "nightly", "2026-11-29T02:00Z", "succeeded")]
    result = {"days": 1, "children": 2, "succeeded": 2, "failed": 0}
    assert every_database.execute(PARENT).fetchone() == ("succeeded", result, None, {"done": 2, "total": 2}, None)
    assert settle(every_database, parent, failed=True) == []


def test_children_that_have_ended_leave_a_parent_alone_that_is_still_at_its_own_work(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        parent = claimed(guard, request())
        send(every_database, parent.run_id, "c0")
        guard.renew(parent, {"done": 7, "total": 9})
        end(every_database, "succeeded", "c0")
        assert (settle(every_database, parent.run_id), settle_all(every_database)) == ([], ([], []))
        assert every_database.execute(PROGRESS, {"parent": parent.run_id}).fetchall() == []
        assert every_database.execute(PARENT).fetchone() == ("running", None, None, {"done": 7, "total": 9}, "holder-1")
        guard.finish(parent, Ending(outcome="succeeded", status="running", may_fail=0.0))
    assert [one.status for one in settle(every_database, parent.run_id)] == ["succeeded"]


def test_it_has_no_holder_to_lose(waits: Waits, every_database: psycopg.Connection) -> None:
    parent = waits(1)
    fence = ask(every_database, "select fence from shiftlock.job_runs where id = %s", parent)
    assert isinstance(fence, int)
    late_news = LostRun("nightly", parent, fence, None, None)  # of the process that has sent its children out
    assert rescue(every_database, late_news, on_lost="retry", lost_budget=5, dead="killed") is None
    assert ask(every_database, "select holder from shiftlock.job_runs where id = %s", parent) == "its children"


def test_the_next_tick_meets_it_as_a_run_that_goes_on(waits: Waits, every_server_url: str) -> None:
    waits(1)
    with guard_on(every_server_url) as guard:
        answer = guard.claim(request("2026-11-30T02:00Z"))
    assert isinstance(answer, Overlap)
    assert answer.holder == "its children"


@pytest.mark.parametrize(("may_fail", "status"), [(0.0, "failed"), (0.24, "failed"), (0.25, "succeeded")])
def test_it_fails_where_more_of_its_children_have_than_may(
    waits: Waits, every_database: psycopg.Connection, may_fail: float, status: str
) -> None:
    parent = waits(4, may_fail)
    end(every_database, "succeeded", "c0", "c1", "c2")
    end(every_database, "failed", "c3")
    assert [one.status for one in settle(every_database, parent, failed=True)] == [status]


def test_it_fails_with_the_one_too_many_while_others_go_on(waits: Waits, every_database: psycopg.Connection) -> None:
    parent = waits(10, 0.1)
    end(every_database, "failed", "c0")
    assert settle(every_database, parent, failed=True) == []
    end(every_database, "failed", "c1")
    assert [one.status for one in settle(every_database, parent, failed=True)] == ["failed"]
    row = every_database.execute(PARENT).fetchone()
    assert row is not None
    assert row[2] == "2 of 10 children have not succeeded"


def test_a_child_that_waits_for_a_person_holds_it_up(waits: Waits, every_database: psycopg.Connection) -> None:
    parent = waits(2)
    end(every_database, "succeeded", "c0")
    every_database.execute("update shiftlock.job_runs set finished_at = null where run_key = 'c1'")
    every_database.execute("alter table shiftlock.job_runs disable trigger legal_moves")
    every_database.execute("update shiftlock.job_runs set status = 'unknown' where run_key = 'c1'")
    assert settle(every_database, parent, failed=True) == []


def test_without_a_single_child_it_has_succeeded(waits: Waits, every_database: psycopg.Connection) -> None:
    assert [one.status for one in settle(every_database, waits(0))] == ["succeeded"]


def test_of_many_that_see_the_last_child_end_one_ends_the_parent(
    waits: Waits, every_server_url: str, every_database: psycopg.Connection
) -> None:
    parent = waits(20)

    def child(number: int) -> list[Settled]:
        with psycopg.connect(every_server_url, autocommit=True) as own:
            own.execute(END_ONE, [f"c{number}"])
            return settle(own, parent, failed=True)

    with ThreadPoolExecutor(10) as pool:
        settled = [one for found in pool.map(child, range(20)) for one in found]
    assert [one.status for one in settled] == ["failed"]  # with the first of them, whichever it was
    assert ask(every_database, "select count(*) from shiftlock.job_runs where status = 'cancelled'") == 20


def test_a_pass_ends_what_nobody_has_ended_and_notes_how_far_the_others_are(
    waits: Waits, every_database: psycopg.Connection
) -> None:
    parent = waits(3)
    end(every_database, "succeeded", "c0", "c1")
    settled, waiting = settle_all(every_database)
    assert (settled, [(one.job, one.done, one.total) for one in waiting]) == ([], [("nightly", 2, 3)])
    row = every_database.execute(PARENT).fetchone()
    assert row is not None
    assert row[3] == {"done": 2, "total": 3}
    end(every_database, "succeeded", "c2")
    settled, waiting = settle_all(every_database)
    assert ([one.run_id for one in settled], waiting) == ([parent], [])


def test_the_one_that_could_end_is_found_among_hundreds_that_cannot(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    with guard_on(every_server_url) as guard:
        for number in range(102):
            parent = claimed(guard, request(str(number), tick=None, trigger="queue", own_lock_key=number))
            send(every_database, parent.run_id, f"c{number}")
            guard.finish(parent, Ending(outcome="succeeded", status="running", may_fail=0.0))
    end(every_database, "succeeded", "c101")
    assert [one.run_key for one in settle_all(every_database)[0]] == ["101"]


def test_a_parent_that_is_a_child_itself_ends_its_own_parent(
    waits: Waits, every_server_url: str, every_database: psycopg.Connection
) -> None:
    grandparent = waits(1)
    with guard_on(every_server_url) as guard:
        child = claimed(guard, request("c0", job="child", tick=None, trigger="queue"))
        enqueue(
            every_database, "grandchild", [NewRun("g")], sender=child.run_id, parent=child.run_id, message_lasts=None
        )
        guard.finish(child, Ending(outcome="succeeded", status="running", may_fail=0.0))
    end(every_database, "succeeded", "g")
    assert [one.run_id for one in settle(every_database, child.run_id)] == [child.run_id, grandparent]
