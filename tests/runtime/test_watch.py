"""The watchdog's minute over a real ledger, as its Lambda function runs it."""

import json
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from handlers.declaration.catalogue import Catalogue, declare
from handlers.declaration.cron import cron, every
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.policy import CatchUp
from handlers.planning.prune import BATCH, prune
from handlers.runtime import watchdog_entry
from handlers.runtime.watch import MARGIN, MOST_STARTS, ORDER_AGAIN, Watch, watch
from handlers.schedule import SCHEDULE
from tests.guard.holders import ask, claimed, guard_on, request
from tests.queues.post import BASE
from tests.runtime.sandbox import environment

LONG_AGO = datetime.fromisoformat("2020-01-01T00:00Z")
LONGEST_TOKEN = 64  # Amazon ECS API reference, RunTask, clientToken
TARGET = "tests.runtime.sample_jobs:succeed"
NIGHTLY = Job(
    "nightly",
    target=TARGET,
    schedule=cron("0 2 * * ? *"),
    longest_run=minutes(30),
    start_within=minutes(10),
    catch_up=CatchUp("all", window=None),
)
TABLE = declare(NIGHTLY)
DUE = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, next_run)
select name, 'due', lock_key, at, 'plan', 'pending', at
from shiftlock.jobs, lateral (select clock_timestamp() - %(age)s as at) as missed where name = 'nightly'
"""
BEGAN = "update shiftlock.job_attempts set started_at = clock_timestamp() - %s"


def seen(database: psycopg.Connection, table: Catalogue = TABLE) -> Watch:
    return watch(database, table, environment="test")


def missed(database: psycopg.Connection, age: timedelta) -> int:
    """The id of a run whose tick was so long ago."""
    seen(database)
    database.execute("delete from shiftlock.job_runs")
    database.execute(DUE, {"age": age})
    return int(str(ask(database, "select id from shiftlock.job_runs where run_key = 'due'")))


def test_a_tick_that_no_bell_rang_is_ordered_once_it_is_late(database: psycopg.Connection) -> None:
    run = missed(database, minutes(9))
    found = seen(database)
    assert found.starts == ()
    assert 535 < found.late["nightly"] < 600
    database.execute(
        "update shiftlock.job_runs set tick = tick - interval '2 min', next_run = next_run - '2 min'::interval"
    )
    found = seen(database)
    [order] = found.starts
    assert (order.job, order.run, order.attempt, order.trigger) == ("nightly", run, 0, "catch-up")
    assert order.token == f"test-{run}-0-{found.made.at:%Y%m%dT%H%M%S}"
    assert len(order.token) <= LONGEST_TOKEN


def test_a_run_that_was_ordered_is_ordered_again_when_nothing_has_come_of_it(database: psycopg.Connection) -> None:
    missed(database, minutes(11))
    first = seen(database).starts
    assert len(first) == 1
    assert seen(database).starts == ()
    database.execute("update shiftlock.job_runs set called_at = called_at - %s", [ORDER_AGAIN])
    [again] = seen(database).starts
    assert (again.run, again.attempt) == (first[0].run, first[0].attempt)


def test_what_is_on_time_is_left_to_its_bell_and_nothing_late_counts_nought(database: psycopg.Connection) -> None:
    found = seen(database)
    assert (found.starts, found.stops, found.late) == ((), (), {"nightly": 0.0})


def test_a_task_past_its_deadline_is_to_be_stopped(database_url: str, database: psycopg.Connection) -> None:
    seen(database)
    with guard_on(database_url) as guard:
        run = claimed(guard, request(compute="fargate:abc123"))
        database.execute(BEGAN, [NIGHTLY.longest_run + NIGHTLY.stop_within + MARGIN - minutes(1)])
        assert seen(database).stops == ()
        database.execute(BEGAN, [NIGHTLY.longest_run + NIGHTLY.stop_within + MARGIN])
        [stop] = seen(database).stops
    assert (stop.run, stop.task, stop.because) == (run.run_id, "abc123", "it has passed its deadline")


def test_a_task_that_has_lost_its_run_is_to_be_stopped_and_the_run_is_ordered_anew(
    database_url: str, database: psycopg.Connection
) -> None:
    seen(database)
    with guard_on(database_url) as guard:
        run = claimed(guard, request(compute="fargate:abc123"))
        database.execute("update shiftlock.job_runs set lease_until = clock_timestamp() where status = 'running'")
        found = seen(database)
    assert [(stop.task, stop.because) for stop in found.stops] == [("abc123", "its run was taken from it")]
    assert [(order.run, order.attempt, order.trigger) for order in found.starts] == [(run.run_id, 1, "retry")]


def test_a_function_past_its_deadline_has_nothing_to_stop(database_url: str, database: psycopg.Connection) -> None:
    seen(database)
    with guard_on(database_url) as guard:
        claimed(guard, request(compute="lambda:abc123"))
        database.execute(BEGAN, [timedelta(days=1)])
        assert seen(database).stops == ()


def test_more_jobs_than_one_pass_starts_are_left_for_the_next(database: psycopg.Connection) -> None:
    each = {"target": TARGET, "longest_run": minutes(1), "catch_up": CatchUp("all", window=None)}
    jobs = declare(*(Job(f"job-{n}", schedule=every(hours=1), **each) for n in range(MOST_STARTS + 20)))  # type: ignore[arg-type]
    seen(database, jobs)
    database.execute("update shiftlock.job_runs set tick = tick - interval '2 h', next_run = next_run - interval '2 h'")
    first, second = seen(database, jobs), seen(database, jobs)
    assert (len(first.starts), first.orders()["more"]) == (MOST_STARTS, True)
    assert len(second.starts) >= 20 or second.orders()["more"]
    assert not {order.run for order in first.starts} & {order.run for order in second.starts}


def test_finished_runs_are_pruned_after_their_time_and_no_others(database: psycopg.Connection) -> None:
    missed(database, minutes(1))
    database.execute(
        "insert into shiftlock.job_runs (job_name, run_key, lock_key, trigger, status, skip_reason, finished_at) "
        "select name, 'old', lock_key, 'rule', 'skipped', 'overlap', '2019-12-31' from shiftlock.jobs"
    )
    database.execute(
        "insert into shiftlock.job_runs (job_name, run_key, lock_key, trigger, status, skip_reason, finished_at) "
        "select name, 'new', lock_key, 'rule', 'skipped', 'overlap', '2020-01-02' from shiftlock.jobs"
    )
    assert prune(database, before=LONG_AGO) == 1
    keys = {key for (key,) in database.execute("select run_key from shiftlock.job_runs")}
    assert "old" not in keys
    assert {"new", "due"} <= keys


def test_runs_that_nobody_will_ever_finish_keep_no_finished_ones(database: psycopg.Connection) -> None:
    missed(database, minutes(1))
    database.execute(
        "insert into shiftlock.job_runs (job_name, run_key, lock_key, trigger, status, finished_at) "
        "select name, 'k' || n, n, 'queue', case when n <= %(many)s then 'pending' else 'succeeded' end, "
        "case when n > %(many)s then timestamptz '2019-12-31' end "
        "from shiftlock.jobs, generate_series(1, %(many)s + 5) as n",
        {"many": BATCH},
    )
    assert prune(database, before=LONG_AGO) == 5


def test_the_function_answers_in_json_and_says_that_it_looked(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment(database_url).items():
        monkeypatch.setenv(name, value)
    answer: dict[str, Any] = json.loads(json.dumps(watchdog_entry.handler({}, None)))
    assert (answer["starts"], answer["stops"], answer["tell"], answer["more"]) == ([], [], [], False)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    beats = [line["WatchdogBeat"] for line in lines if line.get("job") == "watchdog"]
    assert beats == [[1.0]]
    assert {line["job"] for line in lines if "SecondsLate" in line} == {job.name for job in SCHEDULE}


def test_what_goes_wrong_with_the_outbox_keeps_no_run_from_its_start(
    database_url: str, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (environment(database_url) | {"SHIFTLOCK_QUEUES": BASE}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(watchdog_entry, "SCHEDULE", TABLE)
    missed(database, minutes(11))
    database.execute("drop table shiftlock.outbox")
    starts = watchdog_entry.handler({}, None)["starts"]
    assert isinstance(starts, list)
    assert [order["job"] for order in starts] == ["nightly"]
