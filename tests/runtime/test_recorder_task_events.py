"""What the recorder reads in the end of a task."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.runtime.identity import Delivery
from handlers.runtime.log_link import CONTAINER
from handlers.runtime.recorder.event import findings
from handlers.runtime.recorder.findings import Tried
from handlers.runtime.report import EXIT_CODES, Result
from infra import task_definition
from tests.runtime.aws_events import FAILED_TO_START, OF_THE_TICK, PREFIX, TASK, stopped_task
from tests.runtime.reading import AT, over

ORDERED = datetime(2026, 11, 29, 2, 0, 11, 123000, tzinfo=UTC)
KILLED = "OutOfMemoryError: Container killed due to memory usage"
NO_WAY = (
    "ResourceInitializationError: unable to pull secrets or registry auth: execution resource retrieval failed: "
    "unable to get registry auth from asm"
)
NO_IMAGE = "CannotPullContainerError: pull image manifest has been retried 1 time(s): image shiftlock:9 not found"

CAUSES = {
    "no way to the registry": (
        stopped_task(stoppedReason=NO_WAY, **FAILED_TO_START),
        f"never started, TaskFailedToStart: {NO_WAY}",
        "see that the task's subnets",
    ),
    "no such image": (
        stopped_task(stoppedReason=NO_IMAGE, reason=NO_IMAGE, **FAILED_TO_START),
        f"never started, TaskFailedToStart: {NO_IMAGE}",
        "see that the image",
    ),
    "no capacity": (
        stopped_task(stoppedReason="Capacity is unavailable at this time.", **FAILED_TO_START),
        "never started, TaskFailedToStart: Capacity is unavailable at this time.",
        "nothing, unless it goes on",
    ),
    "out of memory": (
        stopped_task(exit_code=137, reason=KILLED),
        f"exit code 137, EssentialContainerExited: Essential container in task exited; {KILLED}",
        "give the job more memory",
    ),
    "spot": (
        stopped_task(exit_code=143, stopCode="SpotInterruption", stoppedReason="Your Spot Task was interrupted."),
        "exit code 143, SpotInterruption: Your Spot Task was interrupted.",
        "nothing: AWS took",
    ),
    "a machine is replaced": (
        stopped_task(exit_code=137, stopCode="TerminationNotice", stoppedReason="Task retirement"),
        "exit code 137, TerminationNotice: Task retirement",
        "nothing: AWS replaced",
    ),
    "stopped by a person": (
        stopped_task(exit_code=137, stopCode="UserInitiated", stoppedReason="Task stopped by user"),
        "exit code 137, UserInitiated: Task stopped by user",
        "nothing, if its stop was meant",
    ),
    "no exit code": (
        stopped_task(exit_code=None, reason="DockerTimeoutError: Could not transition to stopped"),
        "ended without an exit code, EssentialContainerExited: Essential container in task exited; "
        "DockerTimeoutError: Could not transition to stopped",
        "read the end of the task's log",
    ),
    "stopped before it began": (
        stopped_task(stopCode="UserInitiated", stoppedReason="wrong job", startedAt=None),
        "never started, UserInitiated: wrong job",
        "nothing, if its stop was meant",
    ),
    "an error of Python": (
        stopped_task(exit_code=1),
        "exit code 1, EssentialContainerExited: Essential container in task exited",
        "read the end of the task's log",
    ),
    "without any reason": (
        stopped_task(exit_code=2, stopCode=None, stoppedReason=None),
        "exit code 2",
        "read the end of the task's log",
    ),
    "a sidecar ended first": (
        stopped_task(
            exit_code=137,
            others=({"name": "agent", "exitCode": 1, "reason": KILLED, "lastStatus": "STOPPED"},),
        ),
        "exit code 137, EssentialContainerExited: Essential container in task exited",
        "read the end of the task's log",
    ),
}


@pytest.mark.parametrize("case", CAUSES)
def test_the_end_of_a_task_is_told_with_stop_code_reason_and_exit_code(case: str) -> None:
    event, why, advice = CAUSES[case]
    found = over(event)
    assert (found.job, found.compute, found.why) == ("sample", f"fargate:{TASK}", why)
    assert found.advice.startswith(advice)
    assert found.tried == Tried(Delivery("rule", AT), ordered_at=ORDERED)


@pytest.mark.parametrize("result", sorted(set(Result) - {Result.FAILED, Result.INTERRUPTED, Result.UNAVAILABLE}))
def test_a_task_that_has_asked_the_ledger_was_no_failed_start(result: Result) -> None:
    assert over(stopped_task(exit_code=EXIT_CODES[result])).tried is None


def test_a_sidecar_that_fails_makes_no_failure_of_a_job_that_succeeded() -> None:
    sidecar = {"name": "agent", "exitCode": 1, "lastStatus": "STOPPED"}
    assert over(stopped_task(exit_code=0, others=(sidecar,))).tried is None


def test_a_dispatched_task_was_for_the_run_that_it_names() -> None:
    variables = {"SHIFTLOCK_TRIGGER": "retry", "SHIFTLOCK_RUN": "42"}
    tried = over(stopped_task(variables=variables, **FAILED_TO_START)).tried
    assert tried == Tried(Delivery("retry", None, run_id=42), ordered_at=ORDERED)


def test_a_task_for_a_part_of_the_job_keeps_its_part() -> None:
    variables = OF_THE_TICK | {"SHIFTLOCK_PARTITION": "berlin"}
    assert over(stopped_task(variables=variables)).tried == Tried(
        Delivery("rule", AT, partition="berlin"), ordered_at=ORDERED
    )


@pytest.mark.parametrize("overrides", [None, {}, {"containerOverrides": []}])
def test_a_task_started_by_hand_was_for_the_latest_tick(overrides: dict[str, Any] | None) -> None:
    tried = over(stopped_task(exit_code=1, overrides=overrides)).tried
    assert tried == Tried(Delivery("manual", ORDERED), ordered_at=ORDERED)


@pytest.mark.parametrize("family", ["shiftlock-dev_migrate", "shiftlock-prod-sample", "somebody-elses"])
def test_a_task_that_is_no_jobs_of_this_environment_is_passed_over(family: str) -> None:
    arn = f"arn:aws:ecs:eu-central-1:111122223333:task-definition/{family}:1"
    assert findings(stopped_task(exit_code=1, taskDefinitionArn=arn), PREFIX) == ()


def test_the_container_that_decides_is_the_one_that_is_deployed_and_started() -> None:
    assert task_definition.CONTAINER == CONTAINER


def test_events_are_read_as_they_come_over_the_wire() -> None:
    event = stopped_task(exit_code=137, reason=KILLED)
    assert findings(json.loads(json.dumps(event)), PREFIX) == findings(event, PREFIX)


def test_the_end_of_a_worker_is_that_of_whatever_run_it_held_and_of_no_start() -> None:
    found = over(stopped_task(job="inventory-pull_worker", exit_code=137, reason=KILLED))
    assert (found.job, found.compute, found.tried, found.worker) == ("inventory-pull", f"fargate:{TASK}", None, True)
