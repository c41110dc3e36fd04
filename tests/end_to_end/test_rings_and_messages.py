"""What the deployed templates make of bells that ring twice or not at all, and whom they tell what went wrong."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from handlers.declaration.signals import Signal
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET
from handlers.schedule import SCHEDULE
from ops.local.aws.errors import LocalAwsError
from tests.end_to_end.acts import PLAN, PREFIX, RUN, WATCHDOG, attempts, fire, log_of, plan, watch
from tests.end_to_end.conftest import Deployed

pytestmark = pytest.mark.usefixtures("nothing_under_way")

# As a holder leaves it that has died for the last time that a run may have it, while nobody saw.
SILENT = """
update shiftlock.job_runs set status = 'running', waiting = false, fence = nextval('shiftlock.fence'), holder = 'gone',
    lease_until = now(), attempt = 1, infra_failures = %s
where job_name = %s and run_key = %s
"""


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


def beats(deployed: Deployed) -> int:
    """How many metrics the watchdog has sent that say that it is well."""
    lines = [line for line in log_of(deployed, "_watchdog").splitlines() if Signal.WATCHDOG_BEAT in line]
    return sum(json.loads(line)[Signal.WATCHDOG_BEAT] == [1.0] for line in lines)
