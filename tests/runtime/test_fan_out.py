"""A run that sends out others: each once, and it ends when they have."""

from typing import Any

import psycopg
import pytest

from handlers.declaration.duration import minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.runtime.report import Report, Result
from tests.runtime.running import QUICK, run, sample

CHILDREN = "select run_key, status, payload ->> 'tenant' from shiftlock.job_runs where job_name = 'child' order by id"
PARENT = "select status, attempt, result, holder from shiftlock.job_runs where run_key = '2026-11-29T02:00Z'"
NEXT_TICK = "select count(*) from shiftlock.job_runs where trigger = 'plan' and tick > now()"

CHILD = Job(
    "child",
    target="tests.runtime.sample_jobs:tell_the_tenant",
    queue=Queue(delay=seconds(0)),
    longest_run=minutes(1),
    retry=QUICK,
)


def parent(function: str, **limits: Any) -> Job:
    return sample(function, **({"sends": ("child",)} | limits))


def send(url: str, function: str, **limits: Any) -> Report:
    return run(parent(function, **limits), url, others=[CHILD])


def work(url: str, key: str) -> Report:
    """Have the child of this key run, as its message would."""
    with psycopg.connect(url) as ledger:
        row = ledger.execute("select payload from shiftlock.job_runs where run_key = %s", [key]).fetchone()
    assert row is not None
    return run(CHILD, url, at=None, trigger="queue", key=key, payload=row[0])


def key(tenant: str) -> str:
    return f"sample/2026-11-29T02:00Z/{tenant}"


def test_the_parent_waits_without_a_process_and_its_next_tick_is_planned(
    database_url: str, database: psycopg.Connection
) -> None:
    report = send(database_url, "send_one_for_each_tenant")
    assert (report.result, report.status, report.value) == (Result.SUCCEEDED, "running", {"new": 3})
    assert database.execute(PARENT).fetchone() == ("running", 1, {"new": 3}, "its children")
    assert database.execute(CHILDREN).fetchall() == [
        (key(tenant), "pending", tenant) for tenant in ("north", "south", "east")
    ]
    assert database.execute(NEXT_TICK).fetchone() == (1,)
    assert database.execute("select outcome from shiftlock.job_attempts").fetchall() == [("succeeded",)]


def test_the_last_child_ends_the_parent_which_fails_if_one_has_and_none_may(
    database_url: str, database: psycopg.Connection
) -> None:
    send(database_url, "send_one_for_each_tenant")
    assert work(database_url, key("north")).result is Result.SUCCEEDED
    assert database.execute(PARENT).fetchone() == ("running", 1, {"new": 3}, "its children")
    assert work(database_url, key("south")).result is Result.FAILED
    row = database.execute(PARENT).fetchone()
    assert row is not None
    assert (row[0], row[3]) == ("failed", None)
    assert work(database_url, key("east")).result is Result.SUCCEEDED


def test_a_second_delivery_meets_a_parent_that_goes_on(database_url: str) -> None:
    send(database_url, "send_one_for_each_tenant")
    assert send(database_url, "send_one_for_each_tenant").result is Result.BUSY


def test_another_attempt_sends_none_twice(database_url: str, database: psycopg.Connection) -> None:
    report = send(database_url, "send_and_be_cut")
    assert (report.attempt, report.status, report.value) == (2, "running", {"new": 0})
    assert len(database.execute(CHILDREN).fetchall()) == 3


def test_without_items_the_parent_has_succeeded_at_once(database_url: str, database: psycopg.Connection) -> None:
    send(database_url, "send_to_nobody_in_particular")
    result = {"new": 0, "children": 0, "succeeded": 0, "failed": 0}
    assert database.execute(PARENT).fetchone() == ("succeeded", 1, result, None)


def test_a_run_that_was_taken_over_sends_nothing(database_url: str, database: psycopg.Connection) -> None:
    assert send(database_url, "send_and_be_taken_over").result is Result.FENCED
    assert database.execute(CHILDREN).fetchall() == []


def test_what_is_sent_with_a_transaction_comes_with_it_or_not_at_all(
    database_url: str, database: psycopg.Connection
) -> None:
    database.execute("create table effect (name text not null, attempt integer not null)")
    report = send(database_url, "write_and_send")
    assert (report.result, report.attempt, report.value) == (Result.SUCCEEDED, 2, {"new": True})
    assert database.execute("select name, attempt from effect").fetchall() == [("uploaded", 2)]
    assert database.execute(
        "select run_key, payload, parent_id from shiftlock.job_runs where trigger = 'queue'"
    ).fetchall() == [("a.jpg", {"image": "a.jpg"}, None)]


@pytest.mark.parametrize(
    ("limits", "others", "says"),
    [
        ({"sends": ()}, [CHILD], "sample does not say that it sends to child"),
        ({}, [Job("child", target=CHILD.target, schedule=sample("fail").schedule, longest_run=minutes(1))], "no queue"),
        ({}, [], "unknown job 'child'"),
    ],
)
def test_what_the_table_does_not_declare_is_refused(
    database_url: str, limits: dict[str, Any], others: list[Job], says: str
) -> None:
    report = run(parent("send_one_for_each_tenant", **limits), database_url, others=others)
    assert report.result is Result.FAILED
    assert report.error is not None
    assert says in report.error


def test_children_without_partition_go_on_beside_each_other_and_a_duplicate_ends_quietly(database_url: str) -> None:
    send(database_url, "send_one_for_each_tenant")
    assert work(database_url, key("east")).result is Result.SUCCEEDED
    again = work(database_url, key("east"))
    assert (again.result, again.status, again.value) == (Result.ALREADY_DONE, "succeeded", {"tenant": "east"})
