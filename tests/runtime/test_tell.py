"""Of which runs the recorder and the watchdog say that somebody is to be told."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from handlers.guard.request import Ending
from handlers.guard.rescue import NO_HEARTBEAT
from handlers.runtime.dispatch_entry import handler as dispatch
from handlers.runtime.recorder_entry import handler
from handlers.runtime.report import EXIT_CODES, Result
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET
from handlers.runtime.tell import MOST_TOLD
from handlers.runtime.watch import Watch, watch
from tests.guard.holders import END_LEASE, TICK, claimed, guard_on, request
from tests.runtime.aws_events import FAILED_TO_START, REQUEST, TASK, call_record, dispatched, failed_call, stopped_task
from tests.runtime.recording import MINE, OF_RUN_1, PENDING, Events, dies
from tests.runtime.test_watch import TABLE

LINK = "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#logsV2:page"
OOM = stopped_task(exit_code=137, reason="OutOfMemoryError: Container killed due to memory usage")
FAILED = Ending(outcome="failed", status="failed", error="RuntimeError: no rates\nfor SAR")
# More than a day of a job that is rung each minute.
NEWER = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, trigger, status, skip_reason, finished_at)
select name, 'newer ' || number, lock_key, 'rule', 'skipped', 'paused', clock_timestamp()
from shiftlock.jobs, generate_series(1, 2000) as number where name = 'sample'
"""


def to_tell(event: object) -> Events:
    """What the recorder wants told, as it arrives at the notifier."""
    answer: dict[str, Events] = json.loads(json.dumps(handler(event, None)))
    return answer["tell"]


def ends(url: str, ending: Ending, compute: str = MINE) -> None:
    """Claim the 02:00 tick there, and record its end as a job does itself."""
    with guard_on(url) as guard:
        guard.finish(claimed(guard, request(job="sample", compute=compute, log_link=LINK)), ending)


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(
    ("compute", "event"),
    [
        (MINE, stopped_task(exit_code=EXIT_CODES[Result.FAILED])),
        (f"lambda:{REQUEST}", failed_call("AttemptFailed", "sample 2026-11-29T02:00Z failed, out of attempts")),
    ],
    ids=["fargate", "lambda"],
)
def test_a_run_that_a_job_has_recorded_as_failed_is_told_with_all_its_facts(
    database_url: str, compute: str, event: dict[str, Any]
) -> None:
    ends(database_url, FAILED, compute)
    answer = handler(event, None)
    assert answer["recorded"] == []
    assert answer["tell"] == [
        {
            "job": "sample",
            "run": 1,
            "run_key": "2026-11-29T02:00Z",
            "tick": TICK.isoformat(),
            "status": "failed",
            "attempts": 1,
            "error": "RuntimeError: no rates for SAR",
            "log_link": LINK,
        }
    ]


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(
    "ending",
    [
        Ending(outcome="succeeded", status="succeeded"),
        Ending(outcome="failed", status="pending", error="again", retry_in=timedelta(minutes=5)),
        Ending(outcome="cancelled", status="cancelled", error="not today"),
    ],
    ids=lambda ending: ending.status,
)
@pytest.mark.parametrize("result", [Result.FAILED, Result.SUCCEEDED])
def test_nobody_is_told_of_a_run_that_succeeded_is_tried_again_or_was_cancelled(
    database_url: str, ending: Ending, result: Result
) -> None:
    ends(database_url, ending)
    assert to_tell(stopped_task(exit_code=EXIT_CODES[result])) == []


def test_a_timeout_that_a_job_has_put_on_hold_itself_is_told_as_unknown(
    database_url: str, deployed: Callable[..., None]
) -> None:
    deployed(on_lost="hold")
    ends(database_url, Ending(outcome="timed_out", status="unknown", error="it took longer than 30 minutes"))
    [one] = to_tell(stopped_task(exit_code=EXIT_CODES[Result.UNKNOWN]))
    assert (one["status"], one["error"]) == ("unknown", "it took longer than 30 minutes")


@pytest.mark.parametrize(("on_lost", "status"), [("hold", "unknown"), ("retry", None)])
def test_a_lost_run_is_told_where_a_person_decides_and_not_where_it_is_started_again(
    database_url: str, deployed: Callable[..., None], on_lost: str, status: str | None
) -> None:
    deployed(on_lost=on_lost)
    dies(database_url)
    found = to_tell(OOM)
    assert [one["status"] for one in found] == ([] if status is None else [status])
    assert all(one["error"].startswith("exit code 137") for one in found)


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(
    "event",
    [
        OOM,
        stopped_task(stoppedReason="CannotPullContainerError: not found", **FAILED_TO_START),
        dispatched({"job": "sample", "run": 1, "attempt": INFRASTRUCTURE_BUDGET, "reason": "RESOURCE:CPU"}),
    ],
    ids=["lost", "never started", "refused"],
)
def test_a_run_that_infrastructure_has_failed_once_too_often_is_told_and_so_it_is_if_its_recorder_died_then(
    database_url: str, database: psycopg.Connection, event: dict[str, Any]
) -> None:
    database.execute(PENDING, {"attempt": INFRASTRUCTURE_BUDGET, "infra": INFRASTRUCTURE_BUDGET})
    if event is OOM:
        dies(database_url)
    first, again = handler(event, None), handler(event, None)
    assert [one["status"] for one in first["recorded"]] == ["failed"]
    assert again["recorded"] == []
    assert first["tell"] == again["tell"]
    [one] = first["tell"]
    assert (one["run"], one["status"], one["attempts"]) == (1, "failed", INFRASTRUCTURE_BUDGET + 1)
    assert one["log_link"] is None


@pytest.mark.usefixtures("deployed")
def test_an_earlier_attempts_end_tells_nothing_of_what_a_later_one_has_made_of_the_run(
    database_url: str, database: psycopg.Connection
) -> None:
    dies(database_url)
    database.execute(END_LEASE)
    ends(database_url, FAILED, "fargate:later")
    assert to_tell(OOM) == []
    assert len(to_tell(stopped_task(exit_code=1, task="later"))) == 1


@pytest.mark.usefixtures("deployed")
def test_an_old_run_is_told_of_where_its_start_has_named_it(database_url: str, database: psycopg.Connection) -> None:
    ends(database_url, FAILED)
    database.execute(NEWER)
    assert len(to_tell(stopped_task(exit_code=1, variables=OF_RUN_1))) == 1
    # No bell is so late.
    assert to_tell(stopped_task(exit_code=EXIT_CODES[Result.UNKNOWN])) == []


@pytest.mark.usefixtures("deployed")
def test_a_task_that_was_refused_a_run_on_hold_tells_nothing_again(database_url: str) -> None:
    ends(database_url, Ending(outcome="timed_out", status="unknown", error="too long"))
    assert to_tell(stopped_task(exit_code=EXIT_CODES[Result.HELD], task="other", variables=OF_RUN_1)) == []


def answered(*tell: dict[str, Any]) -> dict[str, Any]:
    """The record of a dispatcher that passes on what the watchdog has seen."""
    answer = {"started": [], "failed": [], "stopped": [], "not_stopped": [], "tell": list(tell)}
    return call_record(answer=answer, payload={}, condition="Success", function="shiftlock-dev_dispatcher")


@pytest.mark.usefixtures("deployed")
def test_what_the_watchdog_has_seen_is_passed_on_without_a_look_at_the_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHIFTLOCK_DATABASE_URL", "postgresql://nobody@localhost:1/nowhere")
    assert to_tell(answered({"job": "other", "run": 7})) == [{"job": "other", "run": 7}]


def test_the_dispatcher_passes_on_what_the_watchdog_tells_and_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PREFIX", "CLUSTER", "SUBNETS", "SECURITY_GROUP", "PUBLIC_IP"):
        monkeypatch.setenv(f"SHIFTLOCK_{name}", "x")
    monkeypatch.setenv("SHIFTLOCK_LAMBDA_CEILING", "900")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    orders: dict[str, object] = {"starts": [], "stops": []}
    nothing_done: dict[str, object] = {"started": [], "failed": [], "stopped": [], "not_stopped": []}
    seen = [{"job": "other", "run": 7}]
    assert dispatch({"responsePayload": orders | {"tell": seen}}, None) == nothing_done | {"tell": seen}
    # Of a watchdog of the release before.
    assert dispatch({"responsePayload": orders}, None) == nothing_done | {"tell": []}


@pytest.mark.usefixtures("deployed")
def test_of_many_runs_at_once_some_are_told_and_the_log_says_how_many_are_not(told: Callable[[], Events]) -> None:
    answer = handler(answered(*({"job": "other", "run": run} for run in range(MOST_TOLD + 3))), None)
    assert [one["run"] for one in answer["tell"]] == [*range(MOST_TOLD)]
    assert [(line["message"], line["left_out"]) for line in told()] == [("not every run is told of", 3)]


def watched(database: psycopg.Connection) -> Watch:
    return watch(database, TABLE, environment="test")


@pytest.mark.parametrize("infra", [INFRASTRUCTURE_BUDGET, 0], ids=["lost once too often", "lost for the first time"])
def test_the_watchdog_tells_of_a_silent_run_that_has_failed_and_not_of_one_that_it_starts_again(
    database_url: str, database: psycopg.Connection, infra: int
) -> None:
    watched(database)
    with guard_on(database_url) as guard:
        run = claimed(guard, request(compute=f"fargate:{TASK}", log_link=LINK))
        database.execute("update shiftlock.job_runs set infra_failures = %s where status = 'running'", [infra])
        database.execute(f"{END_LEASE} where status = 'running'")
        found = watched(database)
    assert [lost.run_id for lost in found.made.lost] == [run.run_id]
    tell = json.loads(json.dumps(found.tell))
    expected = {"run": run.run_id, "status": "failed", "error": NO_HEARTBEAT, "attempts": 1, "log_link": LINK}
    assert [{name: one[name] for name in expected} for one in tell] == ([expected] if infra else [])
    assert watched(database).tell == ()
