"""Watchdog, dispatcher, recorder and notifier: what calls them, where their answers go, and what they may do."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from handlers.declaration.placement import place
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from tests.infra.conftest import ALL_GIVEN, WITH_NAT
from tests.infra.templates import Template, listed, statements

PARTS = ("watchdog", "dispatcher", "recorder", "notifier")
# What every function may do.
OF_A_FUNCTION = {"WriteLogs", "SendDeadLetters"}
IN_THE_NETWORK = {"ConnectToDatabase", "AttachToNetwork", "NotByTheCode"}
# "IAM and AWS STS quotas": characters, without white space, of all inline policies of a role.
POLICY_OF_A_ROLE = 10_240
# As long as each can be: GovCloud's partition, the longest region, a role's whole name.
LONGEST = {"AWS::Partition": "aws-us-gov", "AWS::Region": "ap-southeast-2", "AWS::AccountId": "1" * 12}
LONGEST_ROLE, LONGEST_FUNCTION = 64, 64


@pytest.fixture(params=["dev", "staging", "prod"])
def template(request: pytest.FixtureRequest, stacks: Mapping[str, Template]) -> Template:
    """The stack of jobs of each environment."""
    return stacks[f"shiftlock-{request.param}-jobs"]


def ids(template: Template) -> dict[str, str]:
    """Logical ids of the four functions by what they are."""
    return {
        function["FunctionName"].split("_")[1]: logical_id
        for logical_id, function in template.of("Lambda::Function").items()
        if "_" in function["FunctionName"]
    }


def function(template: Template, part: str) -> Mapping[str, Any]:
    return template.of("Lambda::Function")[ids(template)[part]]


def held(template: Template, logical_id: str) -> dict[str, Mapping[str, Any]]:
    """The statements of a function's role by Sid."""
    role = template.of("Lambda::Function")[logical_id]["Role"]["Fn::GetAtt"][0]
    found = [statement for owner, statement in statements(template) if owner == role]
    assert len({statement["Sid"] for statement in found}) == len(found)
    return {statement["Sid"]: statement for statement in found}


def calls(template: Template, logical_id: str) -> Mapping[str, Any]:
    """How Lambda treats the asynchronous calls of a function."""
    (config,) = (
        each
        for each in template.of("Lambda::EventInvokeConfig").values()
        if each["FunctionName"] == {"Ref": logical_id}
    )
    return config


def queue(template: Template) -> Mapping[str, Any]:
    (logical_id,) = template.of("SQS::Queue")
    return arn(logical_id)


def arn(logical_id: str) -> Mapping[str, Any]:
    return {"Fn::GetAtt": [logical_id, "Arn"]}


def rule(template: Template, name: str) -> Mapping[str, Any]:
    (found,) = (each for each in template.of("Events::Rule").values() if each["Name"].endswith(f"_{name}"))
    return found


def test_the_four_are_there_from_the_one_bundle_under_names_that_no_job_has(template: Template) -> None:
    assert set(ids(template)) == set(PARTS)
    codes = [function["Code"] for function in template.of("Lambda::Function").values()]
    assert all(code == codes[0] for code in codes)
    handlers = {part: function(template, part)["Handler"] for part in PARTS}
    assert handlers == {
        "watchdog": "handlers.runtime.watchdog_entry.handler",
        "dispatcher": "handlers.runtime.dispatch_entry.handler",
        "recorder": "handlers.runtime.recorder_entry.handler",
        "notifier": "handlers.runtime.notifier_entry.handler",
    }


def test_only_those_that_call_aws_are_outside_of_the_network(template: Template) -> None:
    for part in ("dispatcher", "notifier"):
        assert "VpcConfig" not in function(template, part)
    of_a_job = next(each for each in template.of("Lambda::Function").values() if "_" not in each["FunctionName"])
    for part in ("watchdog", "recorder"):
        assert function(template, part)["VpcConfig"] == of_a_job["VpcConfig"]


def test_a_pass_ends_before_the_next_and_no_function_keeps_capacity_from_others(template: Template) -> None:
    assert {part: function(template, part)["Timeout"] for part in PARTS} == {
        "watchdog": 55,
        "dispatcher": 60,
        "recorder": 60,
        "notifier": 60,
    }
    for part in PARTS:
        assert function(template, part)["MemorySize"] == 256
        assert "ReservedConcurrentExecutions" not in function(template, part)


def test_what_each_returns_goes_to_the_next_and_what_it_fails_at_to_the_dead_letters(template: Template) -> None:
    of = ids(template)
    goes_to = {part: calls(template, of[part])["DestinationConfig"] for part in PARTS}
    failure = {"OnFailure": {"Destination": queue(template)}}
    assert goes_to == {
        "watchdog": failure | {"OnSuccess": {"Destination": arn(of["dispatcher"])}},
        "dispatcher": failure | {"OnSuccess": {"Destination": arn(of["recorder"])}},
        "recorder": failure | {"OnSuccess": {"Destination": arn(of["notifier"])}},
        "notifier": failure,
    }


def test_no_answer_ever_comes_back_to_who_has_given_it(template: Template) -> None:
    follows: dict[str, set[str]] = {key: set() for key in template.of("Lambda::Function")}
    for config in template.of("Lambda::EventInvokeConfig").values():
        for each in config["DestinationConfig"].values():
            logical_id = each["Destination"]["Fn::GetAtt"][0]
            if logical_id in follows:  # not the queue, which calls nobody
                follows[config["FunctionName"]["Ref"]].add(logical_id)
    assert sum(map(len, follows.values())) == len(follows) - 1
    for start, then in follows.items():
        reached, ahead = set[str](), set(then)
        while ahead:
            reached |= ahead
            ahead = {after for each in ahead for after in follows[each]} - reached
        assert start not in reached
        assert ids(template)["notifier"] in reached | {start}


def test_what_comes_again_in_a_minute_is_not_repeated_and_what_is_told_once_is(template: Template) -> None:
    tries = {
        part: (config["MaximumRetryAttempts"], config["MaximumEventAgeInSeconds"])
        for part in PARTS
        for config in [calls(template, ids(template)[part])]
    }
    assert tries == {"watchdog": (0, 60), "dispatcher": (0, 60), "recorder": (2, 3600), "notifier": (2, 3600)}


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
        assert holds.keys() == {"WriteLogs", "SendRecords", *IN_THE_NETWORK}
        assert holds["SendRecords"]["Resource"] == recorder


def test_the_watchdog_is_called_each_minute_and_by_nobody_else(template: Template) -> None:
    found = rule(template, "watchdog")
    assert (found["ScheduleExpression"], found["State"]) == ("cron(* * * * ? *)", "ENABLED")
    (target,) = found["Targets"]
    assert target["Arn"] == arn(ids(template)["watchdog"])
    assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] == 60


def test_the_recorder_is_told_of_each_task_of_our_cluster_that_stopped(template: Template) -> None:
    found = rule(template, "stopped-tasks")
    (cluster,) = template.of("ECS::Cluster")
    assert found["EventPattern"] == {
        "source": ["aws.ecs"],
        "detail-type": ["ECS Task State Change"],
        "detail": {"lastStatus": ["STOPPED"], "clusterArn": [arn(cluster)]},
    }
    (target,) = found["Targets"]
    assert target["Arn"] == arn(ids(template)["recorder"])
    # The whole event: what a transformer would leave out is forgotten within the hour.
    assert not target.keys() & {"Input", "InputPath", "InputTransformer"}


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


def test_a_rule_waits_for_what_becomes_of_the_calls_of_its_function(template: Template) -> None:
    configs = {key: each["FunctionName"]["Ref"] for key, each in template.of("Lambda::EventInvokeConfig").items()}
    for resource in template.resources.values():
        if resource["Type"] == "AWS::Events::Rule" and "_" in resource["Properties"]["Name"]:
            (target,) = resource["Properties"]["Targets"]
            assert [configs[each] for each in resource["DependsOn"]] == [target["Arn"]["Fn::GetAtt"][0]]


def test_watchdog_and_recorder_reach_the_database_and_no_api(template: Template) -> None:
    for part in ("watchdog", "recorder"):
        holds = held(template, ids(template)[part])
        assert holds.keys() - {"SendRecords"} == OF_A_FUNCTION | IN_THE_NETWORK


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


def test_each_is_told_what_it_reads_from_its_variables(template: Template) -> None:
    prefix = template.name.removesuffix("-jobs")
    (cluster,) = template.of("ECS::Cluster")
    variables = {part: function(template, part)["Environment"]["Variables"] for part in PARTS}
    of_a_job = next(each for each in template.of("Lambda::Function").values() if "_" not in each["FunctionName"])
    needed = of_a_job["Environment"]["Variables"].keys() - {"SHIFTLOCK_JOB"}
    assert variables["watchdog"].keys() == needed | {"SHIFTLOCK_PREFIX", "SHIFTLOCK_SCHEDULES_OFF"}
    assert variables["recorder"].keys() == needed | {"SHIFTLOCK_PREFIX"}
    told = {name: value for name, value in variables["dispatcher"].items() if name.startswith("SHIFTLOCK_")}
    subnets, group = told.pop("SHIFTLOCK_SUBNETS"), told.pop("SHIFTLOCK_SECURITY_GROUP")
    assert told == {
        "SHIFTLOCK_ENVIRONMENT": prefix.removeprefix("shiftlock-"),
        "SHIFTLOCK_PREFIX": prefix,
        "SHIFTLOCK_CLUSTER": arn(cluster),
        "SHIFTLOCK_PUBLIC_IP": "ENABLED" if prefix == "shiftlock-dev" else "DISABLED",
        "SHIFTLOCK_LAMBDA_CEILING": "900",
    }
    names = {name for name in variables["notifier"] if name.startswith("SHIFTLOCK_")}
    assert names == {"SHIFTLOCK_ENVIRONMENT", "SHIFTLOCK_PREFIX", "SHIFTLOCK_TOPIC"}
    (network,) = {
        json.dumps(target["EcsParameters"]["NetworkConfiguration"]["AwsVpcConfiguration"])
        for rule in template.of("Events::Rule").values()
        for target in rule["Targets"]
        if "EcsParameters" in target
    }
    assert subnets == {"Fn::Join": [",", json.loads(network)["Subnets"]]}
    assert [group] == json.loads(network)["SecurityGroups"]


def test_the_watchdog_knows_which_jobs_are_off(others: Mapping[str, Template]) -> None:
    variables = function(others["shiftlock-nat-jobs"], "watchdog")["Environment"]["Variables"]
    assert {variables["SHIFTLOCK_SCHEDULES_OFF"]} == WITH_NAT.schedules_off


def test_each_logs_to_a_group_of_its_own_that_forgets(template: Template) -> None:
    environment = next(each for each in ENVIRONMENTS if each.jobs_stack == template.name)
    groups = {each["LogGroupName"]: each for each in template.of("Logs::LogGroup").values()}
    for part in PARTS:
        assert groups[f"/shiftlock/{environment.name}/_{part}"]["RetentionInDays"] == environment.log_days


def test_the_policy_of_the_dispatcher_of_sixty_jobs_fits_a_role(sixty: Template) -> None:
    role = function(sixty, "dispatcher")["Role"]["Fn::GetAtt"][0]
    size = sum(
        len(json.dumps(_longest(each), separators=(",", ":"))) for owner, each in statements(sixty) if owner == role
    )
    assert 5_000 < size <= POLICY_OF_A_ROLE


def _longest(value: Any) -> Any:
    """A value of a template with each reference as long as what stands for it can be."""
    if isinstance(value, list):
        return [_longest(each) for each in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"Ref": str(name)}:
            return LONGEST.get(name, "x" * 64)
        case {"Fn::GetAtt": [str(name), "Arn"]}:
            of_role = f"arn:aws-us-gov:iam::{'1' * 12}:role/{'x' * LONGEST_ROLE}"
            other = f"arn:aws-us-gov:lambda:ap-southeast-2:{'1' * 12}:function:{'x' * LONGEST_FUNCTION}"
            return of_role if "Role" in name else other
        case {"Fn::Join": [str(separator), parts]}:
            return separator.join(_longest(parts))
        case _:
            return {key: _longest(each) for key, each in value.items()}
