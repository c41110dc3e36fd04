"""Functions: real processes, started by rules and schedules, with the outcomes AWS would give them."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ops.local.aws.assembly import zip_folder
from ops.local.aws.errors import LocalAwsError
from tests.local.aws.cloud import Cloud, iso, message

pytest_plugins = ("tests.local.aws.fixtures",)


def test_a_rule_starts_its_function_as_of_the_given_time(cloud: Cloud, tick: datetime) -> None:
    (arn,) = cloud.aws.fire("to-lambda-enabled", tick)
    assert arn.endswith(":function:worker")
    report = _report(cloud, tick)
    assert report["event"] == {"trigger": "rule", "time": iso(tick)}
    record = json.loads(message(cloud, "done")["Body"])
    assert record["responsePayload"] == {"answer": iso(tick)}


def test_a_schedule_starts_its_function_with_the_scheduled_time_filled_in(cloud: Cloud, tick: datetime) -> None:
    cloud.aws.fire("in-riyadh", tick)
    assert _report(cloud, tick)["event"] == {"trigger": "schedule", "time": iso(tick)}
    assert message(cloud, "done")


def test_a_failing_function_is_not_tried_again_and_its_event_lands_in_the_destination(cloud: Cloud) -> None:
    _send(cloud, {"do": "fail", "time": "fail"})
    report = cloud.listener.wait(lambda report: report.get("event", {}).get("time") == "fail")
    record = json.loads(message(cloud, "letters")["Body"])
    assert record["requestContext"]["requestId"] == report["request"]
    assert record["requestPayload"] == {"do": "fail", "time": "fail"}
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestContext"]["approximateInvokeCount"] == 1
    assert record["responsePayload"] == {"errorType": "ValueError", "errorMessage": "as asked"}


def test_without_settings_a_failure_is_tried_twice_more_and_its_event_lands_in_the_dead_letter_queue(
    cloud: Cloud,
) -> None:
    client = cloud.aws.client("lambda")
    client.create_function(
        FunctionName="plain",
        Runtime="python3.13",
        Role=f"arn:aws:iam::{cloud.aws.account}:role/any",
        Handler="package.entry.handler",
        Environment={"Variables": {"NAME": "plain"}},
        DeadLetterConfig={"TargetArn": f"arn:aws:sqs:{cloud.aws.region}:{cloud.aws.account}:letters"},
        Code={"ZipFile": zip_folder(Path(__file__).parent / "aws" / "function")},
    )
    client.invoke(FunctionName="plain", InvocationType="Event", Payload='{"do": "fail"}')
    for _ in range(3):
        cloud.listener.wait(lambda report: report["from"] == "plain")
    letter = message(cloud, "letters")
    assert json.loads(letter["Body"]) == {"do": "fail"}
    assert letter["MessageAttributes"]["ErrorMessage"]["StringValue"] == "as asked"


@pytest.mark.parametrize(
    ("do", "kind", "error"),
    [
        ("hang", "Sandbox.Timedout", "Task timed out after 3.00 seconds"),
        ("die", "Runtime.ExitError", "Runtime exited with error: signal: killed"),
    ],
)
def test_a_function_that_does_not_come_back_is_a_failure_in_lambdas_own_words(
    cloud: Cloud, do: str, kind: str, error: str
) -> None:
    _send(cloud, {"do": do})
    record = json.loads(message(cloud, "letters")["Body"])
    assert record["requestPayload"] == {"do": do}
    request = record["requestContext"]["requestId"]
    assert record["responsePayload"] == {"errorType": kind, "errorMessage": f"RequestId: {request} Error: {error}"}


def test_a_timer_signal_interrupts_the_handler(cloud: Cloud) -> None:
    answer = cloud.aws.client("lambda").invoke(FunctionName="worker", Payload=json.dumps({"do": "deadline"}))
    assert json.loads(answer["Payload"].read()) == {"interrupted": True}


def test_a_function_gets_what_is_injected_what_it_declares_and_nothing_else_of_the_parent(
    cloud: Cloud, tick: datetime
) -> None:
    cloud.aws.fire("to-lambda-enabled", tick)
    report = _report(cloud, tick)
    environment = report["environment"]
    assert environment["INJECTED"] == "by the parent"
    assert environment["NAME"] == "worker"
    assert environment["AWS_ENDPOINT_URL"] == cloud.aws.endpoint
    assert environment["TMPDIR"] == str(cloud.settings.scratch)
    assert "PYTEST_CURRENT_TEST" not in environment
    assert report["executable"] == sys.executable
    assert 0 < report["remaining"] <= 3000
    assert message(cloud, "done")


def test_what_a_function_prints_is_in_its_log_group_and_its_file(cloud: Cloud) -> None:
    cloud.aws.client("lambda").invoke(FunctionName="worker", Payload="{}")
    events = cloud.aws.client("logs").filter_log_events(logGroupName="/sample/worker")["events"]
    assert "printed by worker" in {event["message"] for event in events}
    assert "printed by worker\n" in cloud.settings.logs.joinpath("worker.log").read_text()


def test_a_time_without_a_zone_is_refused(cloud: Cloud, tick: datetime) -> None:
    with pytest.raises(LocalAwsError, match="has no zone"):
        cloud.aws.fire("to-lambda-enabled", tick.replace(tzinfo=None))


def test_a_disabled_rule_is_not_fired(cloud: Cloud, tick: datetime) -> None:
    with pytest.raises(LocalAwsError, match="to-lambda-disabled is DISABLED"):
        cloud.aws.fire("to-lambda-disabled", tick)


def test_an_unknown_rule_is_refused_with_the_known_ones(cloud: Cloud, tick: datetime) -> None:
    with pytest.raises(LocalAwsError, match=r"no rule or schedule named nothing; there are: .*in-riyadh.*to-task"):
        cloud.aws.fire("nothing", tick)


def _send(cloud: Cloud, event: dict[str, object]) -> None:
    client = cloud.aws.client("lambda")
    client.invoke(FunctionName="worker", InvocationType="Event", Payload=json.dumps(event))


def _report(cloud: Cloud, tick: datetime) -> dict[str, Any]:
    return cloud.listener.wait(lambda report: report.get("event", {}).get("time") == iso(tick))
