"""Events in, ledger rows out: what the recorder's function does on a real database, again and again the same."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from handlers.declaration.signals import Signal
from handlers.guard.rescue import NO_HEARTBEAT
from handlers.runtime.report import EXIT_CODES, Result
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET
from tests.guard.holders import END_LEASE, ask, claimed, guard_on, request
from tests.runtime.aws_events import FAILED_TO_START, TASK, failed_call, stopped_task
from tests.runtime.recording import EVERYTHING, MINE, OF_RUN_1, PENDING, Events, dies, recorded, signals
from tests.runtime.running import run, sample

KEY = "2026-11-29T02:00Z"
OOM = stopped_task(exit_code=137, reason="OutOfMemoryError: Container killed due to memory usage")
WHY = "exit code 137, EssentialContainerExited: Essential container in task exited; OutOfMemoryError: Container killed"
NO_IMAGE = stopped_task(stoppedReason="CannotPullContainerError: not found", **FAILED_TO_START)
NOT_FOUND = "never started, TaskFailedToStart: CannotPullContainerError: not found"

RUN = "select run_key, status, attempt, infra_failures from shiftlock.job_runs order by id"
ATTEMPTS = "select attempt, outcome, compute from shiftlock.job_attempts order by attempt"


@pytest.mark.usefixtures("deployed")
def test_a_killed_tasks_run_is_due_again_at_once_and_a_person_is_told_why_and_what_to_do(
    database_url: str, database: psycopg.Connection, told: Callable[[], Events], capsys: pytest.CaptureFixture[str]
) -> None:
    dies(database_url)
    assert recorded(OOM) == [("sample", 1, "lost", "pending")]
    assert database.execute(RUN).fetchall() == [(KEY, "pending", 1, 1)]
    assert database.execute(ATTEMPTS).fetchall() == [(1, "lost", MINE)]
    error = ask(database, "select error_msg from shiftlock.job_runs")
    assert str(error).startswith(WHY)
    assert told() == [
        {
            "level": "WARNING",
            "message": "lost",
            "job": "sample",
            "run_id": 1,
            "run_status": "pending",
            "because": error,
            "do": "give the job more memory in handlers/schedule.py; the watchdog starts it again",
        }
    ]
    assert signals(capsys.readouterr().out) == [("sample", {Signal.LOST})]
    assert run(sample("succeed"), database_url).attempt == 2


@pytest.mark.usefixtures("deployed")
def test_a_tick_whose_task_never_started_gets_its_row_with_the_reason_and_keeps_all_its_attempts(
    database_url: str, database: psycopg.Connection, told: Callable[[], Events], capsys: pytest.CaptureFixture[str]
) -> None:
    assert recorded(NO_IMAGE) == [("sample", 1, "start_failed", "pending")]
    assert database.execute(RUN).fetchall() == [(KEY, "pending", 1, 1)]
    assert database.execute(ATTEMPTS).fetchall() == [(1, "start_failed", MINE)]
    assert ask(database, "select error from shiftlock.job_attempts") == NOT_FOUND
    assert [(line["level"], line["message"], line["because"]) for line in told()] == [
        ("WARNING", "start_failed", NOT_FOUND)
    ]
    assert signals(capsys.readouterr().out) == [("sample", {Signal.START_FAILED})]
    database.execute("update shiftlock.job_runs set next_run = clock_timestamp()")
    report = run(sample("fail"), database_url, trigger="retry")
    assert report.because == "attempt 3 of 3 failed"
    assert report.attempt == 4


@pytest.mark.usefixtures("deployed")
def test_a_tick_of_a_job_that_the_ledger_does_not_know_is_recorded_too(database: psycopg.Connection) -> None:
    database.execute("delete from shiftlock.jobs")
    assert recorded(NO_IMAGE) == [("sample", 1, "start_failed", "pending")]


EVENTS = {
    "killed": (OOM, True),
    "spot": (stopped_task(exit_code=143, stopCode="SpotInterruption"), True),
    "without an exit code": (stopped_task(), True),
    "never started": (NO_IMAGE, False),
    "dead before its claim": (stopped_task(exit_code=1), False),
    "no database": (stopped_task(exit_code=EXIT_CODES[Result.UNAVAILABLE]), False),
    "stopped before its claim": (stopped_task(exit_code=143, stopCode="UserInitiated"), False),
    "a call that died": (failed_call("Runtime.ExitError", "signal: killed", request=TASK), False),
    "a call too old": (failed_call("", "", request=TASK, condition="EventAgeExceeded"), False),
}


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("case", EVENTS)
def test_an_event_that_comes_again_changes_nothing(
    database_url: str, database: psycopg.Connection, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    event, has_claimed = EVENTS[case]
    if has_claimed:
        dies(database_url)
    assert recorded(event) == [("sample", 1, "lost" if has_claimed else "start_failed", "pending")]
    before = database.execute(EVERYTHING).fetchall()
    capsys.readouterr()
    assert recorded(event) == []
    assert recorded(event | {"id": "of the second time"}) == []
    assert database.execute(EVERYTHING).fetchall() == before
    assert signals(capsys.readouterr().out) == []


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("has_claimed", [True, False], ids=["lost", "never started"])
def test_two_recorders_of_one_event_write_once(
    database_url: str, database: psycopg.Connection, *, has_claimed: bool
) -> None:
    if has_claimed:
        dies(database_url)
    with ThreadPoolExecutor(2) as pool:
        ends = [end for ends in pool.map(recorded, [OOM if has_claimed else NO_IMAGE] * 2) for end in ends]
    assert ends == [("sample", 1, "lost" if has_claimed else "start_failed", "pending")]
    assert database.execute(RUN).fetchall() == [(KEY, "pending", 1, 1)]
    assert ask(database, "select count(*) from shiftlock.job_attempts") == 1


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("event", [OOM, NO_IMAGE, stopped_task(variables=OF_RUN_1)], ids=["oom", "no image", "by id"])
def test_a_run_that_another_task_has_taken_over_is_left_alone(
    database_url: str, database: psycopg.Connection, event: dict[str, Any]
) -> None:
    with guard_on(database_url) as frozen, guard_on(database_url) as successor:
        claimed(frozen, request(job="sample", compute=MINE))
        database.execute(END_LEASE)
        claimed(successor, request(job="sample", compute="fargate:other", holder="holder-2"))
        assert recorded(event) == []
        assert database.execute(RUN).fetchall() == [(KEY, "running", 2, 1)]
        assert database.execute(ATTEMPTS).fetchall() == [(1, "lost", MINE), (2, None, "fargate:other")]


@pytest.mark.usefixtures("deployed")
def test_a_loss_that_was_noticed_before_its_event_came_gets_the_reason(
    database_url: str, database: psycopg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    dies(database_url)
    database.execute(END_LEASE)
    with guard_on(database_url) as successor:
        claimed(successor, request(job="sample", compute="fargate:other", holder="holder-2"))
    assert ask(database, "select error from shiftlock.job_attempts where attempt = 1") == NO_HEARTBEAT
    assert recorded(OOM) == []
    assert str(ask(database, "select error from shiftlock.job_attempts where attempt = 1")).startswith(WHY)
    assert signals(capsys.readouterr().out) == []


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("function", ["succeed", "fail_for_good", "exit_early"])
def test_an_attempt_that_was_recorded_by_the_task_itself_stays_as_it_is(
    database_url: str, database: psycopg.Connection, function: str
) -> None:
    report = run(sample(function), database_url)
    before = database.execute(EVERYTHING).fetchall()
    assert recorded(stopped_task(exit_code=report.exit_code)) == []
    assert recorded(stopped_task(exit_code=report.exit_code, variables=OF_RUN_1)) == []
    assert database.execute(EVERYTHING).fetchall() == before


@pytest.mark.usefixtures("deployed")
def test_an_interrupted_task_has_recorded_that_itself_and_its_stop_adds_nothing(
    database_url: str, database: psycopg.Connection
) -> None:
    with guard_on(database_url) as guard:
        mine = claimed(guard, request(job="sample", compute=MINE))
        database.execute(
            "update shiftlock.job_attempts set outcome = 'interrupted', ended_at = clock_timestamp(); "
            "update shiftlock.job_runs set status = 'pending', holder = null, lease_until = null, infra_failures = 1"
        )
    assert mine.attempt == 1
    before = database.execute(EVERYTHING).fetchall()
    stop = stopped_task(exit_code=143, stopCode="UserInitiated", stoppedReason="Task stopped by user")
    assert recorded(stop) == []
    assert database.execute(EVERYTHING).fetchall() == before


@pytest.mark.usefixtures("deployed")
def test_an_end_that_a_task_could_not_record_is_noticed_whatever_its_exit_code(
    database_url: str, database: psycopg.Connection
) -> None:
    dies(database_url)
    assert recorded(stopped_task(exit_code=EXIT_CODES[Result.RETRY_LATER])) == [("sample", 1, "lost", "pending")]
    assert database.execute(ATTEMPTS).fetchall() == [(1, "lost", MINE)]


@pytest.mark.parametrize(("on_lost", "signal"), [("hold", {Signal.LOST, Signal.FAILED}), ("retry", {Signal.LOST})])
def test_what_becomes_of_a_lost_run_is_what_its_job_says(
    database_url: str,
    deployed: Callable[..., None],
    told: Callable[[], Events],
    capsys: pytest.CaptureFixture[str],
    on_lost: str,
    signal: set[Signal],
) -> None:
    deployed(on_lost=on_lost)
    dies(database_url)
    status = "unknown" if on_lost == "hold" else "pending"
    assert recorded(OOM) == [("sample", 1, "lost", status)]
    assert signals(capsys.readouterr().out) == [("sample", signal)]
    assert ("jobs resolve 1 --as" in told()[0]["do"]) == (on_lost == "hold")


@pytest.mark.usefixtures("deployed")
def test_a_lost_run_of_a_job_that_has_left_the_table_waits_for_a_person(
    database_url: str, database: psycopg.Connection
) -> None:
    with guard_on(database_url) as dead:
        claimed(dead, request(job="removed", compute=MINE))
    event = stopped_task(exit_code=137, job="removed")
    assert recorded(event) == [("removed", 1, "lost", "unknown")]
    assert recorded(event) == []
    assert ask(database, "select count(*) from shiftlock.job_runs") == 1


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("has_claimed", [True, False], ids=["lost", "never started"])
def test_a_run_has_failed_when_infrastructure_has_failed_it_once_too_often(
    database_url: str,
    database: psycopg.Connection,
    told: Callable[[], Events],
    capsys: pytest.CaptureFixture[str],
    *,
    has_claimed: bool,
) -> None:
    database.execute(PENDING, {"attempt": INFRASTRUCTURE_BUDGET, "infra": INFRASTRUCTURE_BUDGET})
    outcome, signal = ("lost", Signal.LOST) if has_claimed else ("start_failed", Signal.START_FAILED)
    if has_claimed:
        dies(database_url)
    assert recorded(OOM if has_claimed else NO_IMAGE) == [("sample", 1, outcome, "failed")]
    used = INFRASTRUCTURE_BUDGET + 1
    assert database.execute(RUN).fetchall() == [(KEY, "failed", used, used)]
    assert signals(capsys.readouterr().out) == [("sample", {signal, Signal.FAILED})]
    assert told()[0]["do"].endswith("then `jobs retry 1`")


@pytest.mark.usefixtures("deployed")
def test_a_tick_that_a_deploy_has_moved_is_found_by_the_minute_it_was_planned_for(
    database: psycopg.Connection,
) -> None:
    database.execute(PENDING, {"attempt": 0, "infra": 0})
    database.execute("update shiftlock.job_runs set run_key = '2026-11-29T01:30Z', tick = '2026-11-29T01:30Z'")
    rung = {"SHIFTLOCK_TRIGGER": "rule", "SHIFTLOCK_EVENT_TIME": "2026-11-29T01:30:20Z"}
    assert recorded(stopped_task(variables=rung, **FAILED_TO_START)) == [("sample", 1, "start_failed", "pending")]
    assert database.execute(RUN).fetchall() == [("2026-11-29T01:30Z", "pending", 1, 1)]
