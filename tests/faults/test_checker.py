"""The checker finds each kind of violation: planted one by one in a run that went well."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from handlers.runtime.identity import Delivery
from handlers.runtime.logs import open_log
from handlers.runtime.report import Result
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop
from tests.faults import facts
from tests.faults.checker import complaints
from tests.faults.job import EFFECTS, Calendar, declared, payload
from tests.faults.stage import set_up
from tests.guard.holders import wait_until

JOB = "checked"
CALENDAR = Calendar.around(datetime.now(UTC))
LEASE = timedelta(seconds=30)

# What would refuse the planted state is taken away first; the note of moves stays.
UNGUARD = """
alter table shiftlock.job_runs disable trigger legal_moves;
alter table shiftlock.job_runs drop constraint one_row_per_run;
"""
MINE = "update shiftlock.job_runs set {} where job_name = 'checked' and trigger = 'rule'"
RUN_ID = "(select id from shiftlock.job_runs where trigger = 'rule')"
COPY = "insert into shiftlock.job_runs (job_name, run_key, lock_key, trigger, status, finished_at) select job_name"
MOVE = "insert into faults.move (job, run_key, old, new, old_fence, new_fence) select job, run_key, {} from faults.move"
ATTEMPT = "insert into shiftlock.job_attempts (run_id, attempt, fence, holder, compute, outcome, ended_at) values "

PLANTED = {
    "no row": ("delete from shiftlock.job_runs where trigger = 'rule'", "the tick has 0 rows"),
    "two rows": (
        COPY + ", run_key, lock_key, trigger, status, finished_at from shiftlock.job_runs where trigger = 'rule'",
        "the tick has 2 rows",
    ),
    "no end": (
        MINE.format("status = 'pending', finished_at = null"),
        "the run has not ended: it is pending",
    ),
    "failed": (MINE.format("status = 'failed', error_msg = 'oh'"), "the run ended failed, .*: oh"),
    "written to after its end": (MINE.format("progress = '{}'"), "was written to after its end"),
    "an illegal move": (MOVE.format("'pending', 'succeeded', 1, 1") + " limit 1", "made an illegal move: pending"),
    "a deleted row": (MOVE.format("'running', null, 1, null") + " limit 1", "made an illegal move: running"),
    "a claim of a running run": (MOVE.format("'running', 'running', 1, 2") + " limit 1", "made an illegal move"),
    "a claim under an old fence": (
        MOVE.format("'pending', 'running', 5, 5") + " limit 1",
        "claimed under a fence that is not higher",
    ),
    "a fence from nowhere": (
        "update faults.move set old_fence = 77 where new = 'succeeded'",
        "changed its fence without a claim",
    ),
    "a move that nobody noted": (
        "update faults.move set old_fence = 77, new_fence = 77 where new = 'succeeded'",
        "changed unseen",
    ),
    "no moves": ("delete from faults.move where new_fence is not null", "no move was noted"),
    "an attempt without an outcome": (
        "update shiftlock.job_attempts set outcome = null, ended_at = null",
        "attempt 1 has no outcome",
    ),
    "an attempt too many": (
        f"{ATTEMPT} ({RUN_ID}, 2, 99, 'h:1:x', 'c', 'lost', now())",
        r"the attempts are \[1, 2\] and should be 1 to 1",
    ),
    "a fence that does not grow": (
        f"{ATTEMPT} ({RUN_ID}, 2, 0, 'h:1:x', 'c', 'lost', now())",
        "the fences of the attempts do not grow",
    ),
    "the end under another fence": (MINE.format("fence = fence + 1"), "the run ended under fence"),
    "an attempt that was no claim": (
        f"{ATTEMPT} ({RUN_ID}, 2, 99, 'h:1:x', 'c', 'lost', now())",
        "the run was claimed under the fences",
    ),
    "two successes": (
        f"{ATTEMPT} ({RUN_ID}, 2, 99, 'h:1:x', 'c', 'succeeded', now())",
        "2 of its attempts succeeded",
    ),
    "a success that was not the last": (MINE.format("attempt = 2"), "attempt 1 succeeded and was not the last"),
    "the result of another": (
        MINE.format("""result = '{"attempt": 1, "pid": 1}'"""),
        "the result .* is not that of attempt 1",
    ),
    "an effect twice": (
        "insert into faults.effect (job, name, attempt, pid, filler) select job, name, attempt, pid, '' "
        "from faults.effect where name = 'item:3'",
        "effect item:3 happened 2 times",
    ),
    "an effect that never happened": (
        "delete from faults.effect where name = 'item:3'",
        "effect item:3 happened 0 times",
    ),
    "an effect that nobody asked for": (
        "update faults.effect set name = 'item:x' where name = 'item:3'",
        "effect item:x happened 1 times",
    ),
    "a sum that is too high": (
        "update faults.account set total = total + 1",
        "the effects add up to 9 and should to 8",
    ),
    "a step without its record": (
        "delete from shiftlock.run_steps where step_key = 'item:3'",
        r"differ .*\['item:3'\]",
    ),
    "a step of another attempt": (
        "update shiftlock.run_steps set fence = fence + 1 where step_key = 'item:3'",
        "effect item:3 has fence .* and is recorded under",
    ),
    "an effect of a stranger": (
        "update faults.effect set pid = 1 where name = 'item:3'",
        "effect item:3 is of attempt 1 in process 1, which never was one",
    ),
    "no next tick": ("delete from shiftlock.job_runs where trigger = 'plan'", "its next tick alone, and there is "),
    "two next ticks": (
        COPY + ", 'x', lock_key, trigger, status, finished_at from shiftlock.job_runs where trigger = 'plan'",
        "its next tick alone, and there is ",
    ),
    "a next tick of a zombie": (
        "update faults.move set written = '3' where new_fence is null",
        "the next tick was planned by somebody who did not end an attempt",
    ),
}


@pytest.fixture
def stage(database_url: str, database: psycopg.Connection) -> psycopg.Connection:
    """A database in which the job has run well."""
    set_up(database)
    log = open_log()
    settings = Settings("test", DatabaseUrl(database_url), LEASE)
    runner = Runner(settings=settings, observers=(), log=log, stop=Stop(), compute="test")
    report = runner.run(declared(JOB, CALENDAR), Delivery("rule", CALENDAR.tick, payload(dwell=0.0)))
    assert report.result is Result.SUCCEEDED
    wait_until(database, f"select not exists ({facts.SESSIONS})")  # the guard has hung up, its session may be there
    return database


@contextmanager
def left_open(url: str) -> Iterator[None]:
    with psycopg.connect(url, autocommit=True, application_name="ghost") as ghost:
        ghost.execute("select pg_advisory_lock(5)")
        yield


def found(database: psycopg.Connection) -> list[str]:
    run_key, next_key = CALENDAR.run_key, CALENDAR.next_key
    return complaints(facts.read(database, JOB, run_key), run_key=run_key, next_key=next_key, effects=EFFECTS)


def test_a_run_that_went_well_has_no_complaints(stage: psycopg.Connection) -> None:
    assert found(stage) == []


@pytest.mark.parametrize(("statement", "complaint"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_violation_is_found(stage: psycopg.Connection, statement: str, complaint: str) -> None:
    stage.execute(UNGUARD)
    stage.execute(statement.encode())
    complained = found(stage)
    assert any(re.search(complaint, one) for one in complained), complained


def test_a_lock_and_a_session_that_are_left_are_found(stage: psycopg.Connection, database_url: str) -> None:
    with left_open(database_url):
        lock, session = found(stage)
    assert lock == "1 advisory locks are left"
    assert session.startswith("a session is left: ghost idle ")
