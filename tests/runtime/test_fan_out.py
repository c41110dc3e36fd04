"""A run that sends out others: each once, and it ends when they have."""

from dataclasses import replace
from typing import Any

import boto3
import psycopg
import pytest
from moto import mock_aws

from handlers.declaration.duration import minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.runtime.report import Report, Result
from tests.queues.post import BASE, REGION, TABLE
from tests.runtime.outbox import left, write
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


def test_its_messages_are_sent_at_once_and_those_to_queues_that_are_not_its_own_left_to_the_watchdog(
    database_url: str, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    write(database, "resize", "of another job")
    with mock_aws():
        sqs = boto3.client("sqs")
        for name in ("child", "resize"):
            sqs.create_queue(QueueName=f"shiftlock-test-{name}")
        others = [CHILD, TABLE.find("resize")]
        assert run(parent("send_one_for_each_tenant"), database_url, others=others, queues=BASE).status == "running"
        waiting = {
            name: sqs.get_queue_attributes(QueueUrl=f"{BASE}{name}", AttributeNames=["All"])["Attributes"]
            for name in ("child", "resize")
        }
    assert {name: told["ApproximateNumberOfMessages"] for name, told in waiting.items()} == {
        "child": "3",
        "resize": "0",
    }
    assert left(database) == ["of another job"]


def test_the_delay_of_the_queue_itself_is_not_waited_for_twice(
    database_url: str, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    later = replace(CHILD, queue=Queue(delay=minutes(10)))
    with mock_aws():  # without the queue itself, so that what is due stays
        run(parent("send_one_for_each_tenant"), database_url, others=[later], queues=BASE)
    due = "select count(*) from shiftlock.outbox where send_after <= clock_timestamp()"
    assert database.execute(due).fetchone() == (3,)
    assert database.execute(
        "select count(*) from shiftlock.job_runs "
        "where job_name = 'child' and next_run > clock_timestamp() + interval '9 minutes'"
    ).fetchone() == (3,)


def test_what_goes_wrong_after_its_end_is_no_failure_of_the_run(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.queues.publish.one_try", lambda *names, **timeouts: 1 / 0)
    report = run(parent("send_one_for_each_tenant"), database_url, others=[CHILD], queues=BASE)
    assert (report.result, report.status) == (Result.SUCCEEDED, "running")


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


def test_what_was_sent_before_an_error_is_waited_for_as_well(
    database_url: str, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.runtime.context.FAN_OUT_BATCH", 1)
    assert send(database_url, "send_what_can_be_sent").status == "running"
    assert len(database.execute(CHILDREN).fetchall()) == 2


def test_of_several_shares_that_may_fail_the_smallest_counts(database_url: str, database: psycopg.Connection) -> None:
    send(database_url, "send_some_that_must_not_fail_and_some_that_may")
    assert database.execute("select may_fail from shiftlock.job_runs where status = 'running'").fetchone() == (0.0,)


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
