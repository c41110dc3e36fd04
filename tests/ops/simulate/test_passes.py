"""What is left out for speed, and what is drawn at random, leaves the ledger as it would be."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import LiteralString

import psycopg
import pytest

from handlers.declaration.cron import cron, every
from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.policy import CatchUp, Retry
from ops.simulate.faults import Faults
from ops.simulate.play import before, play, play_on
from ops.simulate.scenario import Scenario
from ops.simulate.scratch import scratch_database
from tests.ops.simulate.scenes import START, down, job, scenario

# All that a run leaves behind, but for when it was planned (a clock change's row ends then) and what names a process of
# the machine that the test runs on.
LEDGER: LiteralString = """
select job_name, run_key, lock_key, tick, trigger, status, skip_reason, next_run, waiting, last_run, run.attempt,
       infra_failures, run.fence, cancel_reason, case when skip_reason = 'dst' then null else finished_at end,
       called_at, error_msg,
       (select array_agg((attempt.attempt, fence, holder, outcome, started_at, ended_at, error)
                         order by attempt.attempt) from shiftlock.job_attempts attempt where run_id = run.id)
from shiftlock.job_runs run where tick < %s order by tick, job_name, run_key
"""


def ledger(played: Scenario, server_url: str) -> tuple[list[tuple[object, ...]], int]:
    """Everything in the ledger at the end, and how many passes that took."""
    with scratch_database(server_url, before(played)) as scratch:
        passes = play_on(played, scratch).passes
        return scratch.connection.execute(LEDGER, (played.end,)).fetchall(), passes


TROUBLE = Faults(seed=5, lost=0.1, duplicate=0.2, fail={"tick": 0.4, "far": 0.5}, die={"tick": 0.1, "far": 0.1})


def troubled(*, clock: bool = False) -> Scenario:
    far = job(
        "far",
        schedule=every(minutes=30),
        longest_run=minutes(40),
        start_within=minutes(3),
        retry=Retry(attempts=4, base=minutes(2), cap=minutes(9)),
        catch_up=CatchUp("all", window=hours(2), at_most=4),
        overlap="queue",
    )
    return Scenario(
        catalogue=scenario(
            job(schedule=every(minutes=15), longest_run=minutes(5), catch_up=CatchUp("latest", window=hours(1))),
            far,
            job("berlin", schedule=cron("30 2 * * ? *", zone="Europe/Berlin"), spread=minutes(10)),
        ).catalogue,
        start=datetime(2025, 3, 30, tzinfo=UTC),
        end=datetime(2025, 3, 30, 14, tzinfo=UTC),
        outages=down(datetime(2025, 3, 30, 9, 7, tzinfo=UTC), minutes(93)),
        faults=TROUBLE if not clock else replace(TROUBLE, lost=0, duplicate=0),
        clock=clock,
    )


@pytest.mark.parametrize("starts", ["bells", "clock"])
def test_passes_that_are_left_out_would_have_changed_nothing(server_url: str, starts: str) -> None:
    day = troubled(clock=starts == "clock")
    some, few = ledger(day, server_url)
    all_of_them, many = ledger(replace(day, every_pass=True), server_url)
    assert some == all_of_them
    assert few < many
    assert many >= 14 * 60 - 93


def test_a_ledger_without_its_checks_comes_to_the_same(server_url: str) -> None:
    morning = replace(troubled(), end=troubled().start + hours(4))
    assert play(morning, server_url, checked=False) == play(morning, server_url)


def test_the_same_seed_gives_the_same_ledger_and_another_seed_another(server_url: str) -> None:
    morning = replace(troubled(), end=troubled().start + hours(5))
    first, _ = ledger(morning, server_url)
    again, _ = ledger(morning, server_url)
    other, _ = ledger(replace(morning, faults=replace(TROUBLE, seed=6)), server_url)
    assert first == again != other


def test_the_scratch_database_lives_in_its_own_time_and_is_gone_afterwards(server_url: str) -> None:
    with scratch_database(server_url, START) as scratch:
        name = scratch.connection.info.dbname
        with psycopg.connect(scratch.url, autocommit=True) as other:
            scratch.clock.now = START + seconds(1)
            scratch.clock.strike()
            times = other.execute("select clock_timestamp(), max(applied_at) from shiftlock.migrations").fetchone()
    assert times == (START + seconds(1), START)
    with psycopg.connect(server_url) as server:
        assert server.execute("select from pg_database where datname = %s", (name,)).fetchone() is None
