"""An environment whose jobs are started by a clock of our own, as an ECS service."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import every
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.declaration.signals import CLOCK, ENVIRONMENT, JOB, NAMESPACE, SERVICE, SERVICE_NAME, Signal
from handlers.schedule import SCHEDULE
from infra.clock_size import clock_size
from infra.environments import InvalidEnvironments, checked
from tests.infra.conftest import BY_CLOCK, jobs_of_all_kinds
from tests.infra.templates import Template, statements
from tests.infra.test_security import explained

# What starts a job, or keeps a start that was not delivered, when EventBridge is there.
OF_EVENTBRIDGE = {
    "AWS::Events::Rule",
    "AWS::Scheduler::Schedule",
    "AWS::Scheduler::ScheduleGroup",
    "AWS::SQS::Queue",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::Lambda::EventInvokeConfig",
}
# What an alarm means, beside its name and what it says.
MEANING = {"MetricName", "Period", "EvaluationPeriods", "Threshold", "ComparisonOperator", "TreatMissingData"}


@pytest.fixture
def clocked(others: Mapping[str, Template]) -> Template:
    """The stack of jobs of an environment with a clock."""
    return others[BY_CLOCK.jobs_stack]


@pytest.fixture
def watched(others: Mapping[str, Template]) -> Template:
    """The stack of alarms of an environment with a clock."""
    return others[BY_CLOCK.alarms_stack]


def jobs(count: int, **facts: Any) -> Catalogue:
    """Jobs that differ in their names alone."""
    return Catalogue(
        tuple(
            Job(f"job-{number}", target="a.b:c", schedule=every(minutes=5), longest_run=minutes(1), **facts)
            for number in range(count)
        )
    )


def kinds(template: Template) -> set[str]:
    """The types of all its resources."""
    return {resource["Type"] for resource in template.resources.values()}


def alarms(template: Template) -> dict[str, Mapping[str, Any]]:
    """Its alarms by name, without the environment's prefix."""
    return {
        alarm["AlarmName"].removeprefix(f"{template.name.removesuffix('alarms')}"): alarm
        for alarm in template.of("CloudWatch::Alarm").values()
    }


def test_one_service_runs_the_clock_and_nothing_of_eventbridge_is_there(clocked: Template) -> None:
    assert len(clocked.of("ECS::Service")) == len(clocked.of("ECS::TaskDefinition")) == 1
    assert not kinds(clocked) & OF_EVENTBRIDGE


def test_with_eventbridge_there_is_no_clock_and_no_alarm_on_one(
    jobs_stacks: list[Template], alarms_stacks: list[Template]
) -> None:
    for template in jobs_stacks:
        assert kinds(template) > OF_EVENTBRIDGE
        assert not [each for each in template.of("ECS::Service").values() if each["ServiceName"].endswith("_clock")]
    for template in alarms_stacks:
        assert "no-watchdog-pass" in alarms(template)
        assert "no-clock-pass" not in alarms(template)


def test_a_deploy_starts_the_new_clocks_first_and_goes_back_when_they_do_not_stay_up(clocked: Template) -> None:
    service = clocked.only("ECS::Service")
    assert service["TaskDefinition"] == {"Ref": next(iter(clocked.of("ECS::TaskDefinition")))}
    assert service["Cluster"] == {"Ref": next(iter(clocked.of("ECS::Cluster")))}
    assert (service["DesiredCount"], service["LaunchType"]) == (2, "FARGATE")
    assert service["DeploymentConfiguration"] == {
        "MinimumHealthyPercent": 100,
        "MaximumPercent": 200,
        "DeploymentCircuitBreaker": {"Enable": True, "Rollback": True},
    }


def test_its_task_is_like_that_of_a_job_but_for_the_command(clocked: Template, others: Mapping[str, Template]) -> None:
    task, job = clocked.only("ECS::TaskDefinition"), next(iter(job_tasks(others).values()))
    for alike in ("NetworkMode", "RequiresCompatibilities", "RuntimePlatform", "Volumes"):
        assert task[alike] == job[alike]
    (container,), (other,) = task["ContainerDefinitions"], job["ContainerDefinitions"]
    for alike in other.keys() - {"Command", "Environment", "LogConfiguration"}:
        assert container[alike] == other[alike]
    assert container["Command"] == ["python", "-m", "handlers.runtime.clock_entry"]
    variables = {each["Name"]: each["Value"] for each in container["Environment"]}
    of_a_job = {each["Name"] for each in other["Environment"]}
    assert variables.keys() == of_a_job - {"SHIFTLOCK_QUEUES"} | {"SHIFTLOCK_ROLE", "SHIFTLOCK_CHILDREN"}
    assert (variables["SHIFTLOCK_ROLE"], variables["SHIFTLOCK_CHILDREN"]) == ("clock", "3")


def job_tasks(others: Mapping[str, Template]) -> dict[str, Mapping[str, Any]]:
    """The task definitions of an environment with EventBridge."""
    return others["shiftlock-given-jobs"].of("ECS::TaskDefinition")


def test_its_network_is_that_of_tasks(clocked: Template) -> None:
    network = clocked.only("ECS::Service")["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert network["AssignPublicIp"] == "DISABLED"
    assert len(network["Subnets"]) == 2
    (group,) = network["SecurityGroups"]
    assert "NetworkJobs" in group["Fn::ImportValue"]


def test_its_names_are_none_that_a_job_could_have_and_its_log_forgets(clocked: Template) -> None:
    assert clocked.only("ECS::Service")["ServiceName"] == "shiftlock-clocked_clock"
    assert clocked.only("ECS::TaskDefinition")["Family"] == "shiftlock-clocked_clock"
    log = clocked.only("Logs::LogGroup")
    assert (log["LogGroupName"], log["RetentionInDays"]) == ("/shiftlock/clocked/_clock", BY_CLOCK.log_days)


def test_the_clock_may_what_any_of_its_jobs_may_and_no_more(clocked: Template) -> None:
    held: dict[str, set[str]] = {}
    for role, statement in statements(clocked):
        held.setdefault(role, set()).add(statement["Sid"])
    (task_role,) = [role for role in held if role.startswith("ClockRole")]
    assert held[task_role] == {"ConnectToDatabase", "ReadFiles", "WriteFiles", "ReadPayloads"}
    (files,) = [each for _, each in statements(clocked) if each["Sid"] == "WriteFiles"]
    assert files["Resource"]["Fn::Join"][1][-1] == "/out/*"
    assert set().union(*held.values()) <= explained("statement")


def test_that_no_clock_makes_its_passes_wakes_somebody_within_minutes(watched: Template) -> None:
    alarm = alarms(watched)["no-clock-pass"]
    assert (alarm["Namespace"], alarm["MetricName"]) == (NAMESPACE, Signal.CLOCK_BEAT)
    dimensions = {each["Name"]: each["Value"] for each in alarm["Dimensions"]}
    assert dimensions == {SERVICE: SERVICE_NAME, ENVIRONMENT: "clocked", JOB: CLOCK}
    assert (alarm["TreatMissingData"], alarm["ComparisonOperator"]) == ("breaching", "LessThanThreshold")
    assert (alarm["Period"] * alarm["EvaluationPeriods"], alarm["Threshold"]) == (300, 1)
    assert alarm["AlarmActions"] == alarm["OKActions"]
    assert "`jobs doctor`" in alarm["AlarmDescription"]


def test_the_alarms_on_the_ends_of_runs_are_those_of_eventbridge_in_place_and_meaning(
    watched: Template, others: Mapping[str, Template]
) -> None:
    by_rules = others["shiftlock-given-alarms"]
    same = {name: alarm for name, alarm in alarms(by_rules).items() if name.endswith(("-failed", "-silent"))}
    assert len(same) == 10  # the monthly job's silence is longer than an alarm can see
    assert alarms(watched).keys() == same.keys() | {"no-clock-pass"}
    for name, alarm in same.items():
        other = alarms(watched)[name]
        assert {key: alarm[key] for key in alarm if key in MEANING} == {
            key: other[key] for key in alarm if key in MEANING
        }
    ids = watched.of("CloudWatch::Alarm").keys() & by_rules.of("CloudWatch::Alarm").keys()
    assert len(ids) == 10


def test_there_is_a_bucket_and_no_queue_since_the_ledger_is_one(others: Mapping[str, Template]) -> None:
    data = others[BY_CLOCK.data_stack]
    assert data.of("S3::Bucket")
    assert not data.of("SQS::Queue")
    assert not [each for each in data.of("EC2::VPCEndpoint").values() if "sqs" in str(each["ServiceName"])]


def test_nothing_that_only_a_watchdog_feeds_is_there(watched: Template) -> None:
    assert kinds(watched) == {"AWS::CloudWatch::Alarm", "AWS::SNS::Topic", "AWS::SNS::TopicPolicy"}


def test_an_alarm_sends_the_reader_only_to_what_is_there(watched: Template) -> None:
    for name, alarm in alarms(watched).items():
        assert "queue" not in alarm["AlarmDescription"]
        if not name.endswith("-failed"):
            assert "/shiftlock/clocked/_clock" in alarm["AlarmDescription"]


def test_a_clock_is_large_enough_for_the_largest_jobs_at_once() -> None:
    largest = sorted((job.memory for job in SCHEDULE), reverse=True)
    assert clock_size(SCHEDULE, 1).memory >= 256 + largest[0]
    assert clock_size(SCHEDULE, 8).memory >= 256 + sum(largest)
    assert clock_size(jobs(20, memory=512), 3).memory == 2048  # 256 + 3 * 512
    assert clock_size(jobs(20, memory=512), 8).memory == 5120  # 256 + 8 * 512
    assert clock_size(jobs(2, disk=15_000), 8).disk == 30_000


def test_a_job_that_may_overlap_itself_or_has_messages_counts_as_often_as_there_are_processes() -> None:
    assert clock_size(jobs(1, memory=512), 8).memory == 1024
    assert clock_size(jobs(1, memory=512, overlap="allow"), 8).memory == 5120
    assert clock_size(jobs(1, memory=512, queue=Queue()), 8).memory == 5120


@pytest.mark.parametrize(
    ("change", "catalogue", "complaint"),
    [
        ({"scheduler": "cron"}, jobs(1), "scheduler 'cron': allowed is eventbridge, clock"),
        ({"clocks": 0}, jobs(1), "clocks 0: allowed is 1 to 10"),
        ({"clock_children": 0}, jobs(1), "clock_children 0: allowed is 1 to 200"),
        ({"clock_children": 201}, jobs(1), "clock_children 201: allowed is 1 to 200"),
        (
            {"clock_children": 13},
            jobs(13, memory=10_240),
            "clock_children 13: the largest jobs need 133,376 MB of memory together; "
            "allowed is as many as fit a task's 122,880 MB",
        ),
        (
            {"clock_children": 2},
            jobs(2, disk=150_000),
            "clock_children 2: the largest jobs need 300,000 MB of disk together; "
            "allowed is as many as fit a task's 204,800 MB",
        ),
        (
            {"schedules_off": frozenset({"job-0"})},
            jobs(1),
            "schedules_off 'job-0': allowed is none with scheduler 'clock', which runs the whole table",
        ),
    ],
)
def test_what_no_clock_can_do_is_refused_with_what_is_allowed(
    change: dict[str, Any], catalogue: Catalogue, complaint: str
) -> None:
    with pytest.raises(InvalidEnvironments) as refused:
        checked((replace(BY_CLOCK, **change),), catalogue)
    assert refused.value.complaints == (f"clocked: {complaint}",)


def test_more_jobs_than_a_clock_holds_are_no_matter_of_eventbridge() -> None:
    table = jobs(13, memory=10_240)
    by_rules = replace(BY_CLOCK, scheduler="eventbridge", clock_children=13)
    assert checked((by_rules,), table) == (by_rules,)


def test_the_environment_with_a_clock_is_in_order() -> None:
    table = Catalogue(jobs_of_all_kinds(6))
    assert checked((BY_CLOCK,), table) == (BY_CLOCK,)
