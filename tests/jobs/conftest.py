"""A small platform in a database of the test's own, and the real runner over the real ledger."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import LiteralString

import psycopg
import pytest
from aws_lambda_powertools.logging import Logger
from psycopg import sql

from handlers.declaration.policy import Retry
from handlers.runtime.identity import Delivery
from handlers.runtime.report import Report
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop
from handlers.schedule import SCHEDULE
from ops.local.platform.load import load
from ops.local.pos.server import PosServer
from tests.jobs.fixture_types import FailOnce, RunJob
from tests.jobs.inventory import counting
from tests.pos.clock import Clock

AT_ONCE = Retry(attempts=2, base=timedelta(milliseconds=1), cap=timedelta(milliseconds=1))

# A sequence keeps its count when the transaction is undone, so the same row passes at the second attempt.
FAIL_ONCE = sql.SQL("""
create sequence platform.failures;
create function platform.fail_once() returns trigger language plpgsql as $$
begin
    if nextval('platform.failures') = 1 then
        raise exception 'a failure in the middle of the job';
    end if;
    return null;
end $$;
create trigger fail_once after {event} on {table} for each row when ({condition}) execute function platform.fail_once();
""")


@pytest.fixture
def load_until(database_url: str) -> Callable[[date], None]:
    """Load the four days up to and with the given one, for 30 restaurants: more than a job takes in one transaction."""

    def until(last_day: date) -> None:
        load(database_url, last_day, days=4, restaurants=30, orders_per_day=450)

    return until


@pytest.fixture
def platform(database: psycopg.Connection, load_until: Callable[[date], None]) -> psycopg.Connection:
    """A connection to the platform with the days 25 to 28 November 2026."""
    load_until(date(2026, 11, 28))
    return database


@pytest.fixture
def run_job(database_url: str) -> RunJob:
    """The schedule's jobs by the real runner, on this test's database."""

    def run(name: str, at: str, *, stop: Stop | None = None) -> Report:
        runner = Runner(
            settings=Settings("dev", DatabaseUrl(database_url)),
            observers=(),
            log=Logger(service="shiftlock"),
            compute="test",
            stop=stop or Stop(),
        )
        job = replace(SCHEDULE.find(name), retry=AT_ONCE)
        return runner.run(job, Delivery("rule", datetime.fromisoformat(at)))

    return run


@pytest.fixture
def fail_once(database: psycopg.Connection) -> FailOnce:
    """A failure in the middle of a job, on this test's database."""

    def arm(table: LiteralString, event: LiteralString, condition: LiteralString) -> None:
        database.execute(
            FAIL_ONCE.format(
                table=sql.Identifier("platform", table), event=sql.SQL(event), condition=sql.SQL(condition)
            )
        )

    return arm


@pytest.fixture
def clock() -> Clock:
    """What time it is for the POS."""
    return Clock()


@pytest.fixture
def server(clock: Clock, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PosServer]:
    """The POS of the restaurants on this test's database."""
    with counting(database_url, monkeypatch.setenv, clock) as server:
        yield server
