"""What the notifier publishes, to a topic with a queue that listens."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from handlers.runtime.notice import notice
from handlers.runtime.notifier_entry import NotTold, handler
from tests.runtime.aws_events import call_record
from tests.runtime.test_imports import loaded_by
from tests.runtime.test_notice import FAILED

REGION = "eu-central-1"


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[tuple[str, str]]]]:
    """Makes this process the notifier of a topic; subject and text of each message there since the last look."""
    with mock_aws():  # which also gives credentials
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        monkeypatch.setenv("SHIFTLOCK_ENVIRONMENT", "prod")
        sns, sqs = boto3.client("sns", REGION), boto3.client("sqs", REGION)
        topic = sns.create_topic(Name="shiftlock-prod-alarms")["TopicArn"]
        monkeypatch.setenv("SHIFTLOCK_TOPIC", topic)
        queue = sqs.create_queue(QueueName="listens")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)

        def messages() -> list[tuple[str, str]]:
            found = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=0).get("Messages", [])
            bodies = [json.loads(message["Body"]) for message in found]
            return sorted((body["Subject"], body["Message"]) for body in bodies)

        yield messages


def returned(*tell: dict[str, Any]) -> dict[str, Any]:
    """Lambda's record of what the recorder has returned."""
    answer = {"recorded": [], "tell": list(tell)}
    return call_record(answer=answer, payload={}, condition="Success", function="shiftlock-prod_recorder")


def test_each_run_is_told_with_a_message_of_its_own(heard: Callable[[], list[tuple[str, str]]]) -> None:
    unknown = FAILED | {"job": "report-aggregation", "run": 42, "status": "unknown"}
    assert handler(returned(FAILED, unknown), None) == {"told": [41, 42]}
    expected = [notice("prod", one) for one in (FAILED, unknown)]
    assert heard() == [(said.subject, said.text) for said in expected]


def test_with_nothing_to_tell_no_call_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHIFTLOCK_TOPIC", raising=False)
    monkeypatch.setattr("handlers.runtime.notifier_entry.boto3.client", None)
    assert handler(returned(), None) == {"told": []}


@pytest.mark.usefixtures("heard")
def test_a_topic_that_is_not_there_is_an_error_that_names_it_and_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = f"arn:aws:sns:{REGION}:123456789012:gone"
    monkeypatch.setenv("SHIFTLOCK_TOPIC", gone)
    with pytest.raises(NotTold, match=rf"{gone} was not told of run 41 \(.*NotFound.*\), run 42 \(.*\): see that"):
        handler(returned(FAILED, FAILED | {"run": 42}), None)


def test_one_message_that_is_not_taken_holds_no_other_back(heard: Callable[[], list[tuple[str, str]]]) -> None:
    too_long = FAILED | {"run": 40, "error": "x" * 300_000}
    with pytest.raises(NotTold, match="run 40 ") as refused:
        handler(returned(too_long, FAILED), None)
    assert "run 41" not in str(refused.value)
    assert [subject for subject, _ in heard()] == [notice("prod", FAILED).subject]


def test_an_event_that_is_no_record_of_the_recorder_is_raised() -> None:
    with pytest.raises(KeyError):
        handler({"source": "elsewhere"}, None)


def test_the_notifier_loads_no_job_and_no_database_driver() -> None:
    unwanted = ("handlers.jobs", "psycopg", "infra", "ops", "aws_cdk")
    modules = loaded_by("import handlers.runtime.notifier_entry")
    assert [module for module in modules if module.startswith(unwanted)] == []
