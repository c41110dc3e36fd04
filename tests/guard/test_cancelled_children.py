"""A run that is cancelled takes along what it has sent out, and one that is tried again brings it back."""

import psycopg
import pytest

from handlers.guard.intervene import CannotIntervene, cancel, retry
from handlers.guard.request import Ending
from handlers.guard.rescue import LostRun, rescue
from tests.guard.holders import ask, claimed, guard_on, request
from tests.guard.parents import Waits, end, send, sent_out


def statuses(database: psycopg.Connection) -> list[str]:
    return [status for (status,) in database.execute("select status from shiftlock.job_runs order by id")]


def test_cancelled_it_ends_at_once_and_takes_its_children_along(
    waits: Waits, every_database: psycopg.Connection
) -> None:
    parent = waits(3)
    end(every_database, "succeeded", "c0")
    assert cancel(every_database, parent, "not today") == "cancelled"
    rows = every_database.execute("select run_key, status from shiftlock.job_runs order by id").fetchall()
    assert [status for _, status in rows] == ["cancelled", "succeeded", "cancelled", "cancelled"]


def test_cancelled_between_two_attempts_it_takes_along_what_it_has_sent_out_and_what_that_has(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    parent = sent_out(every_server_url, every_database, "parent", "child")
    assert cancel(every_database, parent, "not today") == "cancelled"
    assert statuses(every_database) == ["cancelled"] * 3


def test_tried_again_it_brings_back_what_was_cancelled_with_it_and_nothing_else(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    parent = sent_out(every_server_url, every_database, "parent", "child")
    send(every_database, parent, "meant")
    meant = ask(every_database, "select id from shiftlock.job_runs where run_key = 'meant'")
    assert isinstance(meant, int)
    cancel(every_database, meant, "this one alone")
    cancel(every_database, parent, "not today")
    assert statuses(every_database) == ["cancelled"] * 4
    retry(every_database, parent)
    assert statuses(every_database) == ["pending", "pending", "pending", "cancelled"]


def test_one_that_cannot_be_tried_again_brings_nothing_back(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    parent = sent_out(every_server_url, every_database, "parent")
    cancel(every_database, parent, "not today")
    end(every_database, "succeeded", "parent")
    with pytest.raises(CannotIntervene, match="is succeeded: only failed, skipped and cancelled runs"):
        retry(every_database, parent)
    assert statuses(every_database) == ["succeeded", "cancelled"]


def test_cancelled_at_work_it_takes_them_along_when_its_holder_obeys_or_is_lost(
    every_server_url: str, every_database: psycopg.Connection
) -> None:
    for run_key, loses in (("obeys", False), ("lost", True)):
        with guard_on(every_server_url) as guard:
            parent = claimed(guard, request(run_key))
            send(every_database, parent.run_id, f"child of {run_key}")
            assert cancel(every_database, parent.run_id, "not today") == "asked"
            if loses:
                lost = LostRun("nightly", parent.run_id, parent.fence, None, None)
                rescue(every_database, lost, on_lost="retry", lost_budget=5, dead="killed")
            else:
                guard.finish(parent, Ending(outcome="cancelled", status="cancelled"))
    assert statuses(every_database) == ["cancelled"] * 4
