"""What the deployed templates make of processes that die, hang or fail, and of starts that come to nothing."""

import signal

import psutil
import pytest

from handlers.schedule import SCHEDULE
from tests.end_to_end.acts import PREFIX, RUN, attempts, fire, log_of, plan, watch
from tests.end_to_end.conftest import Deployed

pytestmark = pytest.mark.usefixtures("nothing_under_way")

NIGHT = "2026-11-26T23:00Z"
DUE_NOW = "update shiftlock.job_runs set next_run = now() - interval '1 second' where id = %s and status = 'pending'"
END_LEASE = "update shiftlock.job_runs set lease_until = now() - interval '1 second' where id = %s"
COMPUTE = "select compute from shiftlock.job_attempts where run_id = %s and attempt = %s"
INVOICES = "select count(*), count(distinct restaurant_id) from platform.invoices where day = %s"


def test_a_task_that_is_killed_is_recorded_with_the_reason_and_retried_to_success(deployed: Deployed) -> None:
    deployed.aws.breaks.order(f"{PREFIX}-billing-run", "oom")
    fire(deployed, "billing-run", NIGHT)
    assert deployed.await_end("billing-run", NIGHT) == "pending"
    watch(deployed)
    assert deployed.await_end("billing-run", NIGHT) == "succeeded"
    first, second = attempts(deployed, "billing-run", NIGHT)
    assert first[:2] == ("lost", "fargate")
    assert first[2].startswith("exit code 137, EssentialContainerExited: Essential container in task exited; OutOfMem")
    assert second == ("succeeded", "fargate", "")
    invoices, restaurants = deployed.ledger.execute(INVOICES, ("2026-11-26",)).fetchall()[0]
    assert invoices == restaurants > 0


def test_a_function_that_is_killed_is_recorded_with_the_reason_and_retried_to_success(deployed: Deployed) -> None:
    tick = "2026-11-27T12:15Z"
    deployed.aws.breaks.order(f"{PREFIX}-session-cleanup", "kill")
    fire(deployed, "session-cleanup", tick)
    assert deployed.await_end("session-cleanup", tick) == "pending"
    watch(deployed)
    assert deployed.await_end("session-cleanup", tick) == "succeeded"
    first, second = attempts(deployed, "session-cleanup", tick)
    assert first[:2] == ("lost", "lambda")
    assert "Runtime exited with error: signal: killed" in first[2]
    assert second == ("succeeded", "lambda", "")


@pytest.mark.parametrize(
    ("job", "tick", "compute", "reason"),
    [
        ("report-aggregation", "2026-11-27T03:30Z", "fargate", "never started, TaskFailedToStart: ResourceInit"),
        ("session-cleanup", "2026-11-27T12:30Z", "lambda", "Runtime.ImportModuleError: Unable to import module"),
    ],
)
def test_what_never_starts_is_recorded_with_the_reason_and_retried_without_using_an_attempt(
    deployed: Deployed, job: str, tick: str, compute: str, reason: str
) -> None:
    deployed.aws.breaks.order(f"{PREFIX}-{job}", "never-start")
    fire(deployed, job, tick)
    run = deployed.await_attempt("start_failed", attempt=1)
    deployed.ledger.execute(DUE_NOW, (run,))
    watch(deployed)
    assert deployed.await_end(job, tick) == "succeeded"
    first, second = attempts(deployed, job, tick)
    assert first[:2] == ("start_failed", compute)
    assert first[2].startswith(reason)
    assert second == ("succeeded", compute, "")
    assert deployed.ledger.execute(RUN, (job, tick)).fetchone() == (run, 1, None)


def test_a_start_that_the_dispatcher_cannot_make_is_recorded_and_made_later(deployed: Deployed) -> None:
    job, tick = "report-aggregation", "2026-11-26T03:30Z"
    ecs = deployed.aws.client("ecs")
    plan(deployed, job, tick)
    [definition] = ecs.list_task_definitions(familyPrefix=f"{PREFIX}-{job}")["taskDefinitionArns"]
    kept = ecs.describe_task_definition(taskDefinition=definition)["taskDefinition"]
    ecs.deregister_task_definition(taskDefinition=definition)
    try:
        watch(deployed)
        run = deployed.await_attempt("start_failed", attempt=1)
    finally:
        names = ("family", "containerDefinitions", "cpu", "memory", "networkMode", "requiresCompatibilities", "volumes")
        ecs.register_task_definition(**{name: kept[name] for name in names})
    deployed.ledger.execute(DUE_NOW, (run,))
    watch(deployed)
    assert deployed.await_end(job, tick) == "succeeded"
    [(outcome, compute, error), done] = attempts(deployed, job, tick)
    assert (outcome, compute) == ("start_failed", "dispatcher")
    assert "TaskDefinition is inactive" in error
    assert done == ("succeeded", "fargate", "")


def test_a_function_that_raises_is_called_once_and_tried_again_by_us_alone(deployed: Deployed) -> None:
    tick = "2026-11-27T12:45Z"
    before = calls(deployed, "session-cleanup")
    deployed.ledger.execute("alter table platform.sessions rename to away")
    try:
        fire(deployed, "session-cleanup", tick)
        while (status := deployed.await_end("session-cleanup", tick)) == "pending":
            pass  # between two attempts
        deployed.aws.settle()
    finally:
        deployed.ledger.execute("alter table platform.away rename to sessions")
    assert status == "failed"
    tried = [(outcome, compute) for outcome, compute, _ in attempts(deployed, "session-cleanup", tick)]
    assert tried == [("failed", "lambda")] * SCHEDULE.find("session-cleanup").retry.attempts
    assert calls(deployed, "session-cleanup") == before + 1


def test_a_frozen_task_loses_its_run_is_stopped_and_writes_nothing_more(deployed: Deployed) -> None:
    night = "2026-11-25T23:00Z"
    deployed.aws.breaks.order(f"{PREFIX}-billing-run", "timeout")
    fire(deployed, "billing-run", night)
    run = deployed.await_attempt("begun", attempt=1)
    [(compute,)] = deployed.ledger.execute(COMPUTE, (run, 1)).fetchall()
    task = compute.partition(":")[2]
    frozen = process_of(task)
    deployed.ledger.execute(END_LEASE, (run,))
    watch(deployed)
    assert deployed.await_end("billing-run", night) == "pending"
    assert deployed.await_end("billing-run", night) == "succeeded"
    deployed.aws.settle(leaving=1)
    assert [outcome for outcome, *_ in attempts(deployed, "billing-run", night)] == ["lost", "succeeded"]
    described = describe(deployed, task)
    assert (described["desiredStatus"], described["lastStatus"]) == ("STOPPED", "RUNNING")
    assert described["stoppedReason"] == "Shiftlock: its run was taken from it"
    frozen.send_signal(signal.SIGCONT)
    deployed.aws.settle()
    assert describe(deployed, task)["lastStatus"] == "STOPPED"
    # It went on where it was frozen, and found that its run is another's.
    assert [outcome for outcome, *_ in attempts(deployed, "billing-run", night)] == ["fenced", "succeeded"]
    invoices, restaurants = deployed.ledger.execute(INVOICES, ("2026-11-25",)).fetchall()[0]
    assert invoices == restaurants > 0


def calls(deployed: Deployed, job: str) -> int:
    """How often Lambda has called the job's function."""
    return log_of(deployed, job).count("START RequestId")


def describe(deployed: Deployed, task: str) -> dict[str, object]:
    answer = deployed.aws.client("ecs").describe_tasks(cluster=PREFIX, tasks=[task])
    described: dict[str, object] = answer["tasks"][0]
    return described


def process_of(task: str) -> psutil.Process:
    """The process of a task, by the address of its metadata."""
    for process in psutil.process_iter():
        try:
            if task in process.environ().get("ECS_CONTAINER_METADATA_URI_V4", ""):
                return process
        except psutil.Error:
            continue  # it has ended, or is not ours to look at
    raise AssertionError(f"no process of task {task}")
