"""What watchdog, dispatcher, recorder and notifier may do, and who may call them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from handlers.declaration.placement import place
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from tests.infra.conftest import ALL_GIVEN
from tests.infra.grants import OF_WORK, queue_of
from tests.infra.platform_parts import IN_THE_NETWORK, OF_A_FUNCTION, PARTS, arn, calls, function, held, ids, queue
from tests.infra.templates import Template, listed, statements

# "IAM and AWS STS quotas": characters, without white space, of all inline policies of a role.
POLICY_OF_A_ROLE = 10_240
# As long as each can be: GovCloud's partition, the longest region, a role's whole name.
LONGEST = {"AWS::Partition": "aws-us-gov", "AWS::Region": "ap-southeast-2", "AWS::AccountId": "1" * 12}
LONGEST_ROLE, LONGEST_FUNCTION = 64, 64


def test_each_may_send_to_its_own_destinations_and_nowhere_else(template: Template) -> None:
    of = ids(template)
    after = {"watchdog": "dispatcher", "dispatcher": "recorder", "recorder": "notifier", "notifier": None}
    for part, following in after.items():
        holds = held(template, of[part])
        assert holds["SendDeadLetters"]["Resource"] == queue(template)
        if following is None:
            assert "SendRecords" not in holds
        else:
            assert holds["SendRecords"]["Action"] == "lambda:InvokeFunction"
            assert holds["SendRecords"]["Resource"] == arn(of[following])


def test_a_job_that_fails_tells_the_recorder_and_may_tell_nobody_else(template: Template) -> None:
    recorder = arn(ids(template)["recorder"])
    jobs = {key for key, each in template.of("Lambda::Function").items() if "_" not in each["FunctionName"]}
    assert jobs
    for logical_id in jobs:
        assert calls(template, logical_id)["DestinationConfig"] == {"OnFailure": {"Destination": recorder}}
        holds = held(template, logical_id)
        assert holds.keys() - OF_WORK == {"WriteLogs", "SendRecords", *IN_THE_NETWORK}
        assert holds["SendRecords"]["Resource"] == recorder


def test_each_rule_may_call_its_own_function_and_no_rule_the_dispatcher(template: Template) -> None:
    allowed = {
        permission["FunctionName"]["Fn::GetAtt"][0]: permission["SourceArn"]["Fn::GetAtt"][0]
        for permission in template.of("Lambda::Permission").values()
    }
    names = {key: each["Name"] for key, each in template.of("Events::Rule").items()}
    of = ids(template)
    assert names[allowed[of["watchdog"]]].endswith("_watchdog")
    assert names[allowed[of["recorder"]]].endswith("_stopped-tasks")
    assert of["dispatcher"] not in allowed


def test_watchdog_and_recorder_reach_the_database_and_no_api_but_the_watchdog_the_queues(
    template: Template, stacks: Mapping[str, Template]
) -> None:
    watchdog, recorder = (held(template, ids(template)[part]) for part in ("watchdog", "recorder"))
    assert recorder.keys() == OF_A_FUNCTION | IN_THE_NETWORK | {"SendRecords"}
    assert watchdog.keys() == OF_A_FUNCTION | IN_THE_NETWORK | {"SendRecords", "SendMessages"}
    names = {name for each in listed(watchdog["SendMessages"]["Resource"]) for name in [queue_of(each)]}
    prefix = template.name.removesuffix("jobs")
    assert names == {f"{prefix}{job.name}" for job in SCHEDULE if job.queue is not None}
    there = {each["QueueName"] for each in stacks[f"{prefix}data"].of("SQS::Queue").values()}
    assert names < there


def test_the_dispatcher_starts_what_is_there_stops_what_runs_in_our_cluster_and_sees_no_database(
    template: Template,
) -> None:
    holds = held(template, ids(template)["dispatcher"])
    starts = {"StartFunctions", "StartTasks", "PassRolesOfTasks", "StopTasks"}
    assert holds.keys() == OF_A_FUNCTION | starts | {"SendRecords"}
    prefix = template.name.removesuffix("-jobs")
    jobs = {key for key, each in template.of("Lambda::Function").items() if "_" not in each["FunctionName"]}
    assert holds["StartFunctions"]["Action"] == "lambda:InvokeFunction"
    assert {each["Fn::GetAtt"][0] for each in listed(holds["StartFunctions"]["Resource"])} == jobs
    (cluster,) = template.of("ECS::Cluster")
    assert holds["StartTasks"]["Action"] == "ecs:RunTask"
    assert holds["StartTasks"]["Condition"] == {"ArnEquals": {"ecs:cluster": arn(cluster)}}
    assert holds["StartTasks"]["Resource"]["Fn::Join"][1][-1] == f":task-definition/{prefix}-*"
    assert holds["StopTasks"]["Action"] == "ecs:StopTask"
    assert holds["StopTasks"]["Resource"]["Fn::Join"][1][-1] == f":task/{prefix}/*"
    assert template.of("ECS::Cluster")[cluster]["ClusterName"] == prefix


def test_the_dispatcher_hands_tasks_their_own_roles_and_no_other(template: Template) -> None:
    passes = held(template, ids(template)["dispatcher"])["PassRolesOfTasks"]
    assert passes["Action"] == "iam:PassRole"
    assert passes["Condition"] == {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
    of_tasks = {
        task[role]["Fn::GetAtt"][0]
        for task in template.of("ECS::TaskDefinition").values()
        for role in ("TaskRoleArn", "ExecutionRoleArn")
    }
    assert {each["Fn::GetAtt"][0] for each in listed(passes["Resource"])} == of_tasks
    assert len(of_tasks) == 1 + sum(place(job).compute == "fargate" for job in SCHEDULE)


def test_the_notifier_publishes_to_the_topic_of_the_alarms_and_may_do_nothing_else(
    template: Template, stacks: Mapping[str, Template]
) -> None:
    holds = held(template, ids(template)["notifier"])
    assert holds.keys() == OF_A_FUNCTION | {"TellOfBadEnds"}
    assert holds["TellOfBadEnds"]["Action"] == "sns:Publish"
    topic = function(template, "notifier")["Environment"]["Variables"]["SHIFTLOCK_TOPIC"]
    assert holds["TellOfBadEnds"]["Resource"] == topic
    alarms = stacks[template.name.replace("-jobs", "-alarms")]
    assert topic == {
        "Fn::Join": [
            "",
            [
                "arn:",
                {"Ref": "AWS::Partition"},
                ":sns:",
                {"Ref": "AWS::Region"},
                ":",
                {"Ref": "AWS::AccountId"},
                f":{alarms.only('SNS::Topic')['TopicName']}",
            ],
        ]
    }


def test_the_notifier_publishes_to_the_topic_that_is_given(others: Mapping[str, Template]) -> None:
    given = others["shiftlock-given-jobs"]
    assert ALL_GIVEN.alarm_topic is not None
    assert function(given, "notifier")["Environment"]["Variables"]["SHIFTLOCK_TOPIC"] == ALL_GIVEN.alarm_topic
    assert held(given, ids(given)["notifier"])["TellOfBadEnds"]["Resource"] == ALL_GIVEN.alarm_topic


def test_the_pattern_of_families_is_that_of_jobs_alone(template: Template) -> None:
    prefix = template.name.removesuffix("jobs")
    assert all(task["Family"].startswith(prefix) for task in template.of("ECS::TaskDefinition").values())
    for environment in ENVIRONMENTS:
        own = (environment.clock, f"{environment.prefix}_migrate", *map(environment.platform_name, PARTS))
        assert not [name for name in own if name.startswith(prefix)]


@pytest.mark.parametrize("part", ["dispatcher", "watchdog"])
def test_the_policy_of_what_knows_sixty_jobs_fits_a_role(part: str, sixty: Template) -> None:
    role = function(sixty, part)["Role"]["Fn::GetAtt"][0]
    size = sum(
        len(json.dumps(_longest(each), separators=(",", ":"))) for owner, each in statements(sixty) if owner == role
    )
    # The queues of these jobs are twenty.
    assert 3_000 < size <= (POLICY_OF_A_ROLE if part == "dispatcher" else POLICY_OF_A_ROLE // 2)


def _longest(value: Any) -> Any:
    """A value of a template with each reference as long as what stands for it can be."""
    if isinstance(value, list):
        return [_longest(each) for each in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"Ref": str(name)}:
            return LONGEST.get(name, "x" * 64)
        case {"Fn::ImportValue": str()}:
            return "x" * 64
        case {"Fn::GetAtt": [str(name), "Arn"]}:
            of_role = f"arn:aws-us-gov:iam::{'1' * 12}:role/{'x' * LONGEST_ROLE}"
            other = f"arn:aws-us-gov:lambda:ap-southeast-2:{'1' * 12}:function:{'x' * LONGEST_FUNCTION}"
            return of_role if "Role" in name else other
        case {"Fn::Join": [str(separator), parts]}:
            return separator.join(_longest(parts))
        case _:
            return {key: _longest(each) for key, each in value.items()}
