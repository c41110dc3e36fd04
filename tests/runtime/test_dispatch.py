"""The dispatcher against every answer of ECS and Lambda that it tells apart."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import every
from handlers.declaration.duration import hours, minutes
from handlers.declaration.job import Job
from handlers.runtime.dispatch import TRIES, Dispatcher, Place
from infra.task_definition import CONTAINER

TARGET = "tests.runtime.sample_jobs:succeed"
TABLE = declare(
    Job("long", target=TARGET, schedule=every(hours=1), longest_run=hours(1)),
    Job("short", target=TARGET, schedule=every(hours=1), longest_run=minutes(1)),
)
PLACE = Place(
    "shiftlock-test",
    "arn:aws:ecs:us-east-1:123456789012:cluster/shiftlock-test",
    ("subnet-1", "subnet-2"),
    "sg-1",
    "ENABLED",
    timedelta(seconds=900),
)
LONG = {"job": "long", "run": 42, "attempt": 1, "trigger": "retry", "token": "test-42-1"}
SHORT = {"job": "short", "run": 43, "attempt": 0, "trigger": "catch-up", "token": "test-43-0"}
STOP = {"job": "long", "run": 42, "task": "abc", "because": "it has passed its deadline"}
TASK = "arn:aws:ecs:us-east-1:123456789012:task/shiftlock-test/abc"
RUN_TASK = {
    "cluster": PLACE.cluster,
    "taskDefinition": "shiftlock-test-long",
    "launchType": "FARGATE",
    "count": 1,
    "clientToken": "test-42-1",
    "startedBy": "shiftlock-dispatcher",
    "networkConfiguration": {
        "awsvpcConfiguration": {
            "subnets": ["subnet-1", "subnet-2"],
            "securityGroups": ["sg-1"],
            "assignPublicIp": "ENABLED",
        }
    },
    "overrides": {
        "containerOverrides": [
            {
                "name": CONTAINER,
                "environment": [
                    {"name": "SHIFTLOCK_TRIGGER", "value": "retry"},
                    {"name": "SHIFTLOCK_RUN", "value": "42"},
                ],
            }
        ]
    },
}
STARTED = {"tasks": [{"taskArn": TASK}], "failures": []}
FULL = {"tasks": [], "failures": [{"arn": "x", "reason": "Capacity is unavailable at this time."}]}
GONE = {"tasks": [], "failures": [{"arn": "x", "reason": "MISSING", "detail": "the cluster is gone"}]}


@dataclass
class Aws:
    """A dispatcher whose calls are answered as said, in order, and checked against what they should be."""

    ecs: Any
    lambdas: Any
    dispatcher: Dispatcher
    waits: list[float] = field(default_factory=list)


@pytest.fixture
def aws() -> Iterator[Aws]:
    with answered() as each:
        yield each


@contextmanager
def answered() -> Iterator[Aws]:
    config = Config(region_name="us-east-1", retries={"total_max_attempts": 1})
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    ecs, lambdas = (boto3.client(name, config=config, **keys) for name in ("ecs", "lambda"))  # type: ignore[call-overload]
    waits: list[float] = []
    with Stubber(ecs) as ecs_stub, Stubber(lambdas) as lambda_stub:
        yield Aws(ecs_stub, lambda_stub, Dispatcher(TABLE, PLACE, lambdas, ecs, waits.append), waits)
        ecs_stub.assert_no_pending_responses()
        lambda_stub.assert_no_pending_responses()


def test_a_long_job_is_a_task_of_its_family_told_which_run_to_do(aws: Aws) -> None:
    aws.ecs.add_response("run_task", STARTED, RUN_TASK)
    assert aws.dispatcher.start(LONG) == {"job": "long", "run": 42, "attempt": 1, "compute": "fargate", "task": TASK}


def test_a_short_job_is_an_asynchronous_call_of_its_function(aws: Aws) -> None:
    payload = json.dumps({"trigger": "catch-up", "run": 43, "attempt": 0}).encode()
    call = {"FunctionName": "shiftlock-test-short", "InvocationType": "Event", "Payload": payload}
    aws.lambdas.add_response("invoke", {"StatusCode": 202}, call)
    started = {"job": "short", "run": 43, "attempt": 0, "compute": "lambda", "task": None}
    assert aws.dispatcher.start(SHORT) == started


def test_a_full_region_is_asked_again_under_the_same_token(aws: Aws) -> None:
    for answer in (FULL, FULL, STARTED):
        aws.ecs.add_response("run_task", answer, RUN_TASK)
    assert aws.dispatcher.start(LONG)["task"] == TASK
    assert len(aws.waits) == 2
    assert all(wait <= TRIES.longest_wait(n).total_seconds() for n, wait in enumerate(aws.waits, start=1))


def test_a_region_that_stays_full_is_a_failed_start_with_its_reason(aws: Aws) -> None:
    for _ in range(TRIES.attempts):
        aws.ecs.add_response("run_task", FULL, RUN_TASK)
    failed = {"job": "long", "run": 42, "attempt": 1, "reason": "RunTask: Capacity is unavailable at this time."}
    assert aws.dispatcher.start(LONG) == failed


def test_what_another_try_cannot_mend_is_a_failed_start_at_once(aws: Aws) -> None:
    aws.ecs.add_response("run_task", GONE, RUN_TASK)
    assert aws.dispatcher.start(LONG)["reason"] == "RunTask: MISSING the cluster is gone"
    assert aws.waits == []


def test_a_throttled_call_is_made_again(aws: Aws) -> None:
    aws.ecs.add_client_error("run_task", "ThrottlingException", "Rate exceeded")
    aws.ecs.add_response("run_task", STARTED, RUN_TASK)
    assert aws.dispatcher.start(LONG)["task"] == TASK
    aws.lambdas.add_client_error("invoke", "TooManyRequestsException", "Rate exceeded")
    aws.lambdas.add_response("invoke", {"StatusCode": 202})
    assert aws.dispatcher.start(SHORT)["compute"] == "lambda"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("AccessDeniedException", "User is not authorized to perform: ecs:RunTask"),
        ("ClientException", "TaskDefinition not found."),
        ("ClusterNotFoundException", "Cluster not found."),
        ("PlatformTaskDefinitionIncompatibilityException", "no"),
    ],
)
def test_a_refused_call_is_a_failed_start_with_the_words_of_aws(aws: Aws, code: str, message: str) -> None:
    aws.ecs.add_client_error("run_task", code, message)
    assert aws.dispatcher.start(LONG)["reason"] == f"{code}: {message}"
    assert aws.waits == []


def test_a_job_that_has_left_the_table_is_a_failed_start(aws: Aws) -> None:
    assert aws.dispatcher.start(LONG | {"job": "lang"})["reason"] == "unknown job 'lang': did you mean long?"


def test_an_aws_out_of_reach_is_asked_again_and_then_a_failed_start() -> None:
    """Nothing listens on the port."""
    config = Config(region_name="us-east-1", retries={"total_max_attempts": 1}, connect_timeout=1)
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "endpoint_url": "http://127.0.0.1:1"}
    ecs, lambdas = (boto3.client(name, config=config, **keys) for name in ("ecs", "lambda"))  # type: ignore[call-overload]
    waits: list[float] = []
    dispatcher = Dispatcher(TABLE, PLACE, lambdas, ecs, waits.append)
    assert "Could not connect" in dispatcher.start(LONG)["reason"]
    assert len(waits) == TRIES.attempts - 1
    assert "Could not connect" in dispatcher.stop(STOP)["reason"]


def test_a_task_is_stopped_with_the_reason_that_its_event_will_show(aws: Aws) -> None:
    call = {"cluster": PLACE.cluster, "task": "abc", "reason": "Shiftlock: it has passed its deadline"}
    aws.ecs.add_response("stop_task", {"task": {"taskArn": TASK}}, call)
    assert aws.dispatcher.stop(STOP) == {"job": "long", "run": 42, "task": "abc"}


def test_a_task_that_is_gone_counts_as_stopped_and_another_error_does_not(aws: Aws) -> None:
    aws.ecs.add_client_error("stop_task", "InvalidParameterException", "The referenced task was not found.")
    assert "reason" not in aws.dispatcher.stop(STOP)
    aws.ecs.add_client_error("stop_task", "AccessDeniedException", "not authorized")
    assert aws.dispatcher.stop(STOP)["reason"] == "AccessDeniedException: not authorized"
