"""Watchdog, dispatcher, recorder and notifier: what calls them, where their answers go, and what they are told."""

import json
from collections.abc import Mapping

from infra.environments import ENVIRONMENTS
from tests.infra.conftest import WITH_NAT
from tests.infra.platform_parts import PARTS, arn, calls, function, ids, queue, rule
from tests.infra.templates import Template


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


def test_a_rule_waits_for_what_becomes_of_the_calls_of_its_function(template: Template) -> None:
    configs = {key: each["FunctionName"]["Ref"] for key, each in template.of("Lambda::EventInvokeConfig").items()}
    for resource in template.resources.values():
        if resource["Type"] == "AWS::Events::Rule" and "_" in resource["Properties"]["Name"]:
            (target,) = resource["Properties"]["Targets"]
            assert [configs[each] for each in resource["DependsOn"]] == [target["Arn"]["Fn::GetAtt"][0]]


def test_each_is_told_what_it_reads_from_its_variables(template: Template) -> None:
    prefix = template.name.removesuffix("-jobs")
    (cluster,) = template.of("ECS::Cluster")
    variables = {part: function(template, part)["Environment"]["Variables"] for part in PARTS}
    of_a_job = next(each for each in template.of("Lambda::Function").values() if "_" not in each["FunctionName"])
    needed = of_a_job["Environment"]["Variables"].keys() - {"SHIFTLOCK_JOB"}
    assert variables["watchdog"].keys() == needed | {"SHIFTLOCK_PREFIX", "SHIFTLOCK_SCHEDULES_OFF"}
    assert variables["recorder"].keys() == needed - {"SHIFTLOCK_FILES", "SHIFTLOCK_QUEUES"} | {"SHIFTLOCK_PREFIX"}
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
    assert set(variables["SHIFTLOCK_SCHEDULES_OFF"].split(",")) == WITH_NAT.schedules_off


def test_each_logs_to_a_group_of_its_own_that_forgets(template: Template) -> None:
    environment = next(each for each in ENVIRONMENTS if each.jobs_stack == template.name)
    groups = {each["LogGroupName"]: each for each in template.of("Logs::LogGroup").values()}
    for part in PARTS:
        assert groups[f"/shiftlock/{environment.name}/_{part}"]["RetentionInDays"] == environment.log_days
