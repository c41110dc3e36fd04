"""What the recorder does with dispatched runs, failed calls, and events that it cannot read."""

from datetime import timedelta

import psycopg
import pytest

from handlers.declaration.signals import Signal
from handlers.guard.request import Ending
from handlers.runtime.recorder.fields import UnreadableEvent
from handlers.runtime.recorder.record import START_AGAIN, start_waits
from handlers.runtime.recorder_entry import handler
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET
from handlers.runtime.settings import InvalidSettings
from tests.guard.holders import ask, claimed, guard_on, request
from tests.runtime.aws_events import FAILED_TO_START, REQUEST, dispatched, failed_call, stopped_task
from tests.runtime.recording import EVERYTHING, OF_RUN_1, PENDING, dies, recorded, signals
from tests.runtime.running import run, sample
from tests.runtime.test_imports import NEEDED, OF_THE_WHEEL, from_elsewhere, loaded_by

KEY = "2026-11-29T02:00Z"
RUN = "select run_key, status, attempt, infra_failures from shiftlock.job_runs order by id"


@pytest.mark.usefixtures("deployed")
def test_a_dispatched_task_that_never_started_is_an_attempt_of_its_own_run_only(database: psycopg.Connection) -> None:
    database.execute(PENDING, {"attempt": 1, "infra": 0})
    event = stopped_task(variables=OF_RUN_1, **FAILED_TO_START)
    assert recorded(event) == [("sample", 1, "start_failed", "pending")]
    assert database.execute(RUN).fetchall() == [(KEY, "pending", 2, 1)]
    other_run = stopped_task(variables=OF_RUN_1 | {"SHIFTLOCK_RUN": "2"}, task="other", **FAILED_TO_START)
    other_job = stopped_task(variables=OF_RUN_1, task="other", job="other", **FAILED_TO_START)
    assert recorded(other_run) == recorded(other_job) == []
    assert database.execute(RUN).fetchall() == [(KEY, "pending", 2, 1)]


@pytest.mark.usefixtures("deployed")
def test_of_the_dispatchers_failures_each_is_a_failed_start_of_the_attempt_that_was_tried(
    database: psycopg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    database.execute(PENDING, {"attempt": 2, "infra": 0})
    tried = {"job": "sample", "run": 1, "attempt": 2, "reason": "RunTask: RESOURCE:CPU"}
    earlier = tried | {"attempt": 1, "reason": "an answer that is late"}
    gone = tried | {"run": 77}
    event = dispatched(earlier, tried, gone)
    assert recorded(event) == [("sample", 1, "start_failed", "pending")]
    assert recorded(event) == []
    assert database.execute("select attempt, outcome, compute, error from shiftlock.job_attempts").fetchall() == [
        (3, "start_failed", "dispatcher", "not started: RunTask: RESOURCE:CPU")
    ]
    assert signals(capsys.readouterr().out) == [("sample", {Signal.START_FAILED})]


@pytest.mark.usefixtures("deployed")
def test_a_call_that_lambda_ended_is_lost_by_its_request_id(database_url: str, database: psycopg.Connection) -> None:
    dies(database_url, f"lambda:{REQUEST}")
    event = failed_call("Sandbox.Timedout", "RequestId: 1 Error: Task timed out after 330.00 seconds")
    assert recorded(event) == [("sample", 1, "lost", "pending")]
    assert recorded(event) == []
    assert ask(database, "select error_msg from shiftlock.job_runs") == (
        "Sandbox.Timedout: RequestId: 1 Error: Task timed out after 330.00 seconds"
    )


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("since", ["the bell", "before the bell"])
def test_a_call_of_a_bell_that_died_is_no_failed_start_once_another_call_has_made_its_attempt(
    database_url: str, database: psycopg.Connection, since: str
) -> None:
    with guard_on(database_url) as guard:
        ending = Ending(outcome="failed", status="pending", retry_in=timedelta(minutes=5))
        guard.finish(claimed(guard, request(job="sample", compute="lambda:first")), ending)
    if since == "before the bell":
        database.execute(
            "update shiftlock.job_attempts set started_at = '2026-11-29 01:58Z', ended_at = '2026-11-29 01:59Z'"
        )
    else:
        database.execute("update shiftlock.job_attempts set started_at = '2026-11-29 02:00:08Z'")
    expected = [] if since == "the bell" else [("sample", 1, "start_failed", "pending")]
    assert recorded(failed_call("Runtime.ExitError", "signal: killed")) == expected


@pytest.mark.usefixtures("deployed")
def test_a_late_record_of_an_ordered_call_costs_the_attempt_after_it_nothing(database: psycopg.Connection) -> None:
    database.execute(PENDING, {"attempt": 2, "infra": 0})
    late = {"trigger": "retry", "run": 1, "attempt": 1}
    assert recorded(failed_call("Runtime.ExitError", "signal: killed", payload=late)) == []
    of_this = late | {"attempt": 2}
    assert recorded(failed_call("Runtime.ExitError", "signal: killed", payload=of_this)) == [
        ("sample", 1, "start_failed", "pending")
    ]


@pytest.mark.usefixtures("deployed")
def test_a_failure_that_a_call_has_recorded_itself_is_not_recorded_again(
    database_url: str, database: psycopg.Connection
) -> None:
    run(sample("fail_for_good"), database_url)
    before = database.execute(EVERYTHING).fetchall()
    assert recorded(failed_call("AttemptFailed", "sample failed")) == []
    assert recorded(failed_call("AttemptFailed", "sample failed", payload={"trigger": "retry", "run": 1})) == []
    assert database.execute(EVERYTHING).fetchall() == before


@pytest.mark.usefixtures("deployed")
def test_a_persons_call_that_failed_before_it_had_a_run_leaves_none(database: psycopg.Connection) -> None:
    assert recorded(failed_call("Runtime.ExitError", "signal: killed", payload={"trigger": "manual"})) == []
    assert database.execute(RUN).fetchall() == []


@pytest.mark.usefixtures("deployed")
def test_an_event_that_cannot_be_read_is_raised_with_its_reason_and_writes_nothing(
    database: psycopg.Connection,
) -> None:
    with pytest.raises(UnreadableEvent, match="lastStatus of the task is 'RUNNING'"):
        handler(stopped_task(lastStatus="RUNNING"), None)
    assert database.execute(RUN).fetchall() == []


@pytest.mark.usefixtures("deployed")
def test_an_event_of_no_job_needs_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTLOCK_DATABASE_URL", "postgresql://nobody@localhost:1/nowhere")
    migration = "arn:aws:ecs:eu-central-1:111122223333:task-definition/shiftlock-dev_migrate:1"
    assert recorded(stopped_task(exit_code=1, taskDefinitionArn=migration)) == []


@pytest.mark.usefixtures("deployed")
def test_a_recorder_without_a_prefix_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHIFTLOCK_PREFIX")
    with pytest.raises(InvalidSettings, match="SHIFTLOCK_PREFIX is not set"):
        handler(stopped_task(exit_code=137), None)


def test_a_failed_start_is_tried_again_within_a_quarter_of_an_hour_and_never_at_once() -> None:
    soonest, latest = start_waits(0), start_waits(1)
    assert len(soonest) == len(latest) == INFRASTRUCTURE_BUDGET
    assert [wait.total_seconds() for wait in latest] == [30, 60, 120, 240, 480]
    assert all(early == late / 2 for early, late in zip(soonest, latest, strict=True))
    assert sum(latest, timedelta()) == START_AGAIN.longest_wait_in_all()


def test_the_recorder_loads_no_job_and_no_package_that_it_does_not_need() -> None:
    modules = loaded_by("import handlers.runtime.recorder_entry")
    extra = from_elsewhere(modules) - NEEDED
    assert {package for package in extra if not package.startswith(OF_THE_WHEEL)} == set()
    unwanted = ("handlers.jobs", "boto3", "botocore.", "infra", "ops", "aws_cdk")
    assert [module for module in modules if module.startswith(unwanted)] == []
