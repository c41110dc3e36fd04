"""Deliveries that name a run of the ledger, and events that the schedule of today does not explain."""

from datetime import timedelta

import psycopg
import pytest

from handlers.guard.lock import register
from handlers.runtime.identity import Delivery, MalformedDelivery
from handlers.runtime.logs import open_log
from handlers.runtime.report import Result
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop
from tests.runtime.running import TICK, run, sample

PLANNED = """
insert into shiftlock.job_runs (job_name, run_key, partition, lock_key, tick, trigger, payload, status)
select name, %(key)s, %(partition)s, lock_key, %(tick)s, 'plan', %(payload)s, 'pending' from shiftlock.jobs returning id
"""
RUNS = "select run_key, status, trigger from shiftlock.job_runs where attempt > 0 order by id"


def planned(database: psycopg.Connection, key: str, payload: str = "{}", partition: str | None = None) -> int:
    register(database, ["sample"])
    tick = TICK + timedelta(minutes=10)
    facts = {"key": key, "tick": tick, "payload": payload, "partition": partition}
    row = database.execute(PLANNED, facts).fetchone()
    assert row is not None
    return int(row[0])


def start(url: str, run_id: int) -> Result:
    log = open_log()
    settings = Settings("test", DatabaseUrl(url), timedelta(seconds=30))
    runner = Runner(settings=settings, observers=(), log=log, stop=Stop(), compute="test")
    return runner.run(sample("succeed"), Delivery("retry", None, run_id=run_id)).result


def test_a_run_is_started_by_its_id_with_its_own_payload_and_part(
    database_url: str, database: psycopg.Connection
) -> None:
    run_id = planned(database, "m-1", '{"size": 3}', "riyadh-7")
    assert start(database_url, run_id) is Result.SUCCEEDED
    assert start(database_url, run_id) is Result.ALREADY_DONE
    assert database.execute(RUNS).fetchall() == [("m-1", "succeeded", "retry")]


def test_the_id_of_no_run_of_the_job_is_refused(database_url: str) -> None:
    with pytest.raises(MalformedDelivery, match="run is 99: the ledger has no such run of sample"):
        start(database_url, 99)


def test_an_event_of_the_schedule_before_a_deploy_means_the_run_that_was_planned_for_it(
    database_url: str, database: psycopg.Connection
) -> None:
    planned(database, "2026-11-29T02:10Z")
    assert run(sample("succeed"), database_url, at=TICK + timedelta(minutes=10)).run_key == "2026-11-29T02:10Z"
    assert database.execute(RUNS).fetchall() == [("2026-11-29T02:10Z", "succeeded", "rule")]


def test_an_event_between_ticks_means_the_latest_where_nothing_was_planned_for_it(database_url: str) -> None:
    assert run(sample("succeed"), database_url, at=TICK + timedelta(minutes=10)).run_key == "2026-11-29T02:00Z"


def test_after_a_run_that_catches_up_the_tick_that_waits_for_it_is_run_by_the_same_process(
    database_url: str, database: psycopg.Connection
) -> None:
    register(database, ["sample"])
    waits = "insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, waiting) "
    values = "select name, '2026-11-30T02:00Z', lock_key, %s, 'rule', 'pending', true from shiftlock.jobs"
    database.execute(waits.encode() + values.encode(), [TICK + timedelta(days=1)])
    database.execute("update shiftlock.job_runs set next_run = clock_timestamp()")
    run(sample("succeed"), database_url, trigger="catch-up")
    assert database.execute(RUNS).fetchall() == [
        ("2026-11-30T02:00Z", "succeeded", "rule"),
        ("2026-11-29T02:00Z", "succeeded", "catch-up"),
    ]
