"""What the deployed templates make of processes that die, starts that come to nothing, and bells that do not ring."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from handlers.declaration.signals import Signal
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET
from handlers.schedule import SCHEDULE
from ops.local.aws.errors import LocalAwsError
from tests.end_to_end.conftest import Deployed

PREFIX = "shiftlock-dev"
WATCHDOG = f"{PREFIX}_watchdog"
NIGHT = "2026-11-26T23:00Z"

ATTEMPTS = """
select attempt.outcome, split_part(attempt.compute, ':', 1), coalesce(attempt.error, '')
from shiftlock.job_attempts attempt join shiftlock.job_runs run on run.id = attempt.run_id
where job_name = %s and run_key = %s order by attempt.attempt
"""
RUN = "select id, infra_failures, error_msg from shiftlock.job_runs where job_name = %s and run_key = %s"
DUE_NOW = "update shiftlock.job_runs set next_run = now() - interval '1 second' where id = %s and status = 'pending'"
END_LEASE = "update shiftlock.job_runs set lease_until = now() - interval '1 second' where id = %s"
COMPUTE = "select compute from shiftlock.job_attempts where run_id = %s and attempt = %s"
# As the watchdog has planned it an hour before.
PLAN = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, next_run)
select name, %(key)s, lock_key, %(tick)s, 'plan', 'pending', %(tick)s from shiftlock.jobs where name = %(job)s
"""
# As a holder leaves it that has died for the last time that a run may have it, while nobody saw.
SILENT = """
update shiftlock.job_runs set status = 'running', waiting = false, fence = nextval('shiftlock.fence'), holder = 'gone',
    lease_until = now(), attempt = 1, infra_failures = %s
where job_name = %s and run_key = %s
"""
INVOICES = "select count(*), count(distinct restaurant_id) from platform.invoices where day = %s"


@pytest.fixture(autouse=True)
def nothing_under_way(deployed: Deployed) -> Iterator[None]:
    """Each test leaves the local AWS at rest, so that the next one hears only of its own."""
    yield
    deployed.aws.settle()
    for _ in deployed.ledger.notifies(timeout=0):
        pass


@pytest.fixture
def told(deployed: Deployed) -> Iterator[Callable[[], dict[str, str]]]:
    """Listens at the topic of the alarms; the one message that has come there."""
    sns, sqs = deployed.aws.client("sns"), deployed.aws.client("sqs")
    [topic] = [one["TopicArn"] for one in sns.list_topics()["Topics"] if one["TopicArn"].endswith(f":{PREFIX}-alarms")]
    queue = sqs.create_queue(QueueName="a-person")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)["SubscriptionArn"]

    def only() -> dict[str, str]:
        [message] = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20, MaxNumberOfMessages=10)["Messages"]
        said: dict[str, str] = json.loads(message["Body"])
        return said

    yield only
    sns.unsubscribe(SubscriptionArn=subscription)
    sqs.delete_queue(QueueUrl=queue)


def fire(deployed: Deployed, job: str, tick: str) -> None:
    deployed.aws.fire(f"{PREFIX}-{job}", at=datetime.fromisoformat(tick))


def watch(deployed: Deployed) -> None:
    """A pass of the watchdog, through its rule; what it says is done by itself then."""
    deployed.aws.fire(WATCHDOG, at=datetime.now(UTC))


def attempts(deployed: Deployed, job: str, tick: str) -> Sequence[tuple[str, str, str]]:
    return deployed.ledger.execute(ATTEMPTS, (job, tick)).fetchall()


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


def test_a_tick_whose_rule_never_fired_is_caught_up_by_the_watchdog(deployed: Deployed) -> None:
    tick = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=30)
    key = f"{tick:%Y-%m-%dT%H:%MZ}"
    deployed.ledger.execute(PLAN, {"job": "billing-run", "key": key, "tick": tick})
    watch(deployed)
    assert deployed.await_end("billing-run", key) == "succeeded"
    assert attempts(deployed, "billing-run", key) == [("succeeded", "fargate", "")]


def test_a_rule_that_fires_twice_runs_its_task_once_and_the_second_task_is_no_failed_start(deployed: Deployed) -> None:
    job, tick = "report-aggregation", "2026-11-29T03:30Z"
    for _ in range(2):
        fire(deployed, job, tick)
    assert deployed.await_end(job, tick) == "succeeded"
    deployed.aws.settle()
    assert attempts(deployed, job, tick) == [("succeeded", "fargate", "")]


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


def test_a_run_that_has_failed_is_told_to_the_topic_of_the_alarms_with_the_command_to_act(
    deployed: Deployed, told: Callable[[], dict[str, str]]
) -> None:
    tick = "2026-11-27T13:15Z"
    deployed.ledger.execute("alter table platform.sessions rename to away")
    try:
        fire(deployed, "session-cleanup", tick)
        while deployed.await_end("session-cleanup", tick) == "pending":
            pass  # between two attempts
        deployed.aws.settle()
    finally:
        deployed.ledger.execute("alter table platform.away rename to sessions")
    run, _, error = deployed.ledger.execute(RUN, ("session-cleanup", tick)).fetchall()[0]
    said = told()
    assert said["Subject"] == "Shiftlock dev: session-cleanup failed, 2026-11-27 13:15 UTC"
    tried = SCHEDULE.find("session-cleanup").retry.attempts
    for line in (f"Reason: {error}", f"Attempts: {tried}", f"  jobs show {run}", f"  jobs retry {run}"):
        assert line in said["Message"].splitlines()


def test_a_run_that_the_watchdog_finds_lost_once_too_often_is_told_from_within_the_network(
    deployed: Deployed, told: Callable[[], dict[str, str]]
) -> None:
    tick = "2026-11-27T13:30Z"
    plan(deployed, "session-cleanup", tick)
    deployed.ledger.execute(SILENT, (INFRASTRUCTURE_BUDGET, "session-cleanup", tick))
    watch(deployed)
    assert deployed.await_end("session-cleanup", tick) == "failed"
    deployed.aws.settle()
    run, infra_failures, error = deployed.ledger.execute(RUN, ("session-cleanup", tick)).fetchall()[0]
    assert infra_failures == INFRASTRUCTURE_BUDGET + 1
    said = told()["Message"].splitlines()
    assert said[0] == "session-cleanup failed in dev."
    assert f"Reason: {error}" in said
    assert said[-1] == f"  jobs retry {run}"


def test_an_event_that_the_recorder_cannot_read_lands_in_the_dead_letter_queue_with_the_reason(
    deployed: Deployed,
) -> None:
    deployed.aws.client("lambda").invoke(
        FunctionName=f"{PREFIX}_recorder", InvocationType="Event", Payload=json.dumps({"source": "elsewhere"})
    )
    sqs = deployed.aws.client("sqs")
    queue = sqs.get_queue_url(QueueName=f"{PREFIX}-dead-letters")["QueueUrl"]
    [letter] = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
    record = json.loads(letter["Body"])
    assert record["requestPayload"] == {"source": "elsewhere"}
    assert record["responsePayload"]["errorType"] == "UnreadableEvent"
    assert "the recorder takes ends of ECS tasks" in record["responsePayload"]["errorMessage"]


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


def test_a_watchdog_that_is_off_sends_no_beat_any_more(deployed: Deployed) -> None:
    minute = datetime(2026, 11, 28, 12, 1, tzinfo=UTC)
    deployed.aws.fire_due(minute - timedelta(seconds=30))
    started = deployed.aws.fire_due(minute)
    deployed.aws.settle()
    assert [arn.rpartition(":")[2] for arn in started] == [WATCHDOG]
    heard = beats(deployed)
    assert heard > 0
    deployed.aws.client("events").disable_rule(Name=WATCHDOG)
    try:
        assert deployed.aws.fire_due(minute + timedelta(minutes=1)) == []
        with pytest.raises(LocalAwsError, match="is DISABLED"):
            watch(deployed)
        deployed.aws.settle()
        assert beats(deployed) == heard
    finally:
        deployed.aws.client("events").enable_rule(Name=WATCHDOG)
    watch(deployed)
    deployed.aws.settle()
    assert beats(deployed) == heard + 1


def plan(deployed: Deployed, job: str, tick: str) -> None:
    """A run that waits for its retry, as the watchdog finds it."""
    deployed.ledger.execute(PLAN, {"job": job, "key": tick, "tick": datetime.fromisoformat(tick)})
    deployed.ledger.execute(
        "update shiftlock.job_runs set next_run = now(), waiting = true where job_name = %s and run_key = %s",
        (job, tick),
    )


def calls(deployed: Deployed, job: str) -> int:
    """How often Lambda has called the job's function."""
    return log_of(deployed, job).count("START RequestId")


def beats(deployed: Deployed) -> int:
    """How many metrics the watchdog has sent that say that it is well."""
    lines = [line for line in log_of(deployed, "_watchdog").splitlines() if Signal.WATCHDOG_BEAT in line]
    return sum(json.loads(line)[Signal.WATCHDOG_BEAT] == [1.0] for line in lines)


def log_of(deployed: Deployed, name: str) -> str:
    """All that is in a log group, whatever stream it came by."""
    logs = deployed.aws.client("logs")
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=f"/shiftlock/dev/{name}")
    return "\n".join(event["message"] for page in pages for event in page["events"])


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
