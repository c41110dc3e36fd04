"""Tasks: real processes with signals, exit codes, logs and state change events."""

import re
from datetime import datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from ops.local.aws.errors import LocalAwsError
from tests.local.aws.cloud import Cloud, iso, message
from tests.local.aws.tasks import change_of, container_of, end_of, run_task

pytest_plugins = ("tests.local.aws.fixtures",)


def test_a_rule_runs_a_task_from_the_image_folder_with_its_overrides(cloud: Cloud, tick: datetime) -> None:
    (arn,) = cloud.aws.fire("to-task", tick)
    report = cloud.listener.wait(lambda report: report.get("environment", {}).get("EVENT_TIME") == iso(tick))
    assert report["arguments"] == ["declared"]
    assert "asset." in report["folder"]
    assert report["environment"]["INJECTED"] == "by the parent"
    assert report["environment"]["DATABASE_HOST"] == "127.0.0.1"
    assert "PYTEST_CURRENT_TEST" not in report["environment"]
    ended = end_of(cloud, arn)
    assert ended["startedBy"] == "events-rule/to-task"
    assert container_of(ended)["exitCode"] == 0


def test_a_task_ends_with_its_own_exit_code(cloud: Cloud) -> None:
    ended = end_of(cloud, run_task(cloud, EXIT="17"))
    assert ended["stopCode"] == "EssentialContainerExited"
    assert container_of(ended)["exitCode"] == 17
    (described,) = cloud.aws.client("ecs").describe_tasks(cluster="sample", tasks=[ended["taskArn"]])["tasks"]
    assert described["lastStatus"] == "STOPPED"
    assert described["containers"][0]["exitCode"] == 17


def test_each_change_of_a_task_is_an_event_with_a_higher_version(cloud: Cloud) -> None:
    arn = run_task(cloud)
    changes = [change_of(cloud, arn, status) for status in ("RUNNING", "STOPPED")]
    assert changes[0]["version"] < changes[1]["version"]


def test_stopping_a_task_sends_sigterm_and_keeps_the_reason(cloud: Cloud) -> None:
    arn = run_task(cloud, DO="wait")
    _wait_until_ready(cloud)
    answer = cloud.aws.client("ecs").stop_task(cluster="sample", task=arn, reason="enough")
    assert answer["task"]["desiredStatus"] == "STOPPED"
    assert cloud.listener.wait(lambda report: "signal" in report)["signal"] == 15
    ended = end_of(cloud, arn)
    assert (ended["stopCode"], ended["stoppedReason"]) == ("UserInitiated", "enough")
    assert container_of(ended)["exitCode"] == 143


def test_a_task_is_under_way_until_it_has_ended(cloud: Cloud) -> None:
    arn = run_task(cloud, DO="wait")
    _wait_until_ready(cloud)
    with pytest.raises(LocalAwsError, match=r"calls, deliveries or tasks are still under way after 0 s; see the logs"):
        cloud.aws.settle(0)
    cloud.aws.client("ecs").stop_task(cluster="sample", task=arn)
    assert cloud.listener.wait(lambda report: "signal" in report)
    cloud.aws.settle()
    end_of(cloud, arn)


def test_a_task_that_ignores_sigterm_is_killed_after_its_stop_timeout(cloud: Cloud) -> None:
    ecs = cloud.aws.client("ecs")
    definition = ecs.describe_task_definition(taskDefinition="sample-task")["taskDefinition"]
    stubborn = {**definition["containerDefinitions"][0], "stopTimeout": 1}
    ecs.register_task_definition(
        family="stubborn-task", containerDefinitions=[stubborn], cpu="256", memory="512", networkMode="awsvpc"
    )
    arn = run_task(cloud, "stubborn-task", DO="ignore")
    _wait_until_ready(cloud)
    ecs.stop_task(cluster="sample", task=arn)
    assert cloud.listener.wait(lambda report: "signal" in report)
    assert container_of(end_of(cloud, arn))["exitCode"] == 137


def test_a_task_whose_command_cannot_start_has_no_exit_code(cloud: Cloud) -> None:
    ended = end_of(cloud, run_task(cloud, "broken-task"))
    assert ended["stopCode"] == "TaskFailedToStart"
    assert "no-such-program" in ended["stoppedReason"]
    assert "exitCode" not in container_of(ended)


def test_a_client_token_starts_one_task_however_often_it_is_sent(cloud: Cloud) -> None:
    def run() -> Any:
        return cloud.aws.client("ecs").run_task(cluster="sample", taskDefinition="sample-task", clientToken="once")

    (first,), (second,) = run()["tasks"], run()["tasks"]
    assert first["taskArn"] == second["taskArn"]


def test_a_client_token_is_refused_for_another_task(cloud: Cloud) -> None:
    ecs = cloud.aws.client("ecs")
    ecs.run_task(cluster="sample", taskDefinition="sample-task", clientToken="for the sample")
    with pytest.raises(ClientError, match="ConflictException"):
        ecs.run_task(cluster="sample", taskDefinition="broken-task", clientToken="for the sample")


def test_a_task_finds_its_id_in_the_address_of_its_metadata(cloud: Cloud) -> None:
    arn = run_task(cloud, SAY="where")
    report = cloud.listener.wait(lambda report: report.get("environment", {}).get("SAY") == "where")
    address = report["environment"]["ECS_CONTAINER_METADATA_URI_V4"]
    task = arn.rpartition("/")[2]
    assert re.fullmatch("[0-9a-f]{32}", task)
    assert re.fullmatch(f"{cloud.aws.endpoint}/v4/{task}-[0-9]{{10}}", address)
    end_of(cloud, arn)


def test_a_definition_without_an_active_revision_starts_nothing(cloud: Cloud) -> None:
    ecs = cloud.aws.client("ecs")
    container = {"name": "job", "image": "image:tag", "command": ["true"]}
    made = ecs.register_task_definition(family="retired", containerDefinitions=[container])["taskDefinition"]
    ecs.deregister_task_definition(taskDefinition=made["taskDefinitionArn"])
    with pytest.raises(ClientError, match="TaskDefinition is inactive"):
        ecs.run_task(cluster="sample", taskDefinition="retired")


def test_what_a_task_prints_is_in_its_log_group_and_its_file(cloud: Cloud) -> None:
    arn = run_task(cloud)
    end_of(cloud, arn)
    stream = f"task/job/{arn.rpartition('/')[2]}"
    events = cloud.aws.client("logs").get_log_events(logGroupName="/sample/task", logStreamName=stream)["events"]
    assert [event["message"] for event in events] == ["printed by the task"]
    assert "printed by the task\n" in cloud.settings.logs.joinpath("sample-task.log").read_text()


def test_a_target_that_cannot_start_is_an_error_for_who_fires_it(cloud: Cloud, tick: datetime) -> None:
    with pytest.raises(LocalAwsError, match="Unable to find task definition"):
        cloud.aws.fire("to-nothing", tick)


def test_a_target_that_cannot_start_lands_in_its_dead_letter_queue(cloud: Cloud) -> None:
    cloud.aws.client("events").put_events(Entries=[{"Source": "sample", "DetailType": "to nothing", "Detail": "{}"}])
    letter = message(cloud, "letters")
    assert "containerOverrides" in letter["Body"]
    assert "Unable to find task definition" in letter["MessageAttributes"]["ERROR_MESSAGE"]["StringValue"]
    assert letter["MessageAttributes"]["RULE_ARN"]["StringValue"].endswith("rule/on-event-to-nothing")


def _wait_until_ready(cloud: Cloud) -> None:
    cloud.listener.wait(lambda report: report.get("environment", {}).get("DO") in ("wait", "ignore"))
