"""What each declared job becomes."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from handlers.declaration.job import Job
from handlers.declaration.placement import place
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from tests.infra.templates import Template

JOBS = pytest.mark.parametrize("job", SCHEDULE.jobs, ids=lambda job: job.name)
SCHEDULED = [job for job in SCHEDULE if job.scheduled]
WITH_TICKS = pytest.mark.parametrize("job", SCHEDULED, ids=lambda job: job.name)


def starts(template: Template) -> dict[str, list[Mapping[str, Any]]]:
    """The targets of every rule and schedule, by its name."""
    rules = {rule["Name"]: list(rule["Targets"]) for rule in template.of("Events::Rule").values()}
    return rules | {each["Name"]: [each["Target"]] for each in template.of("Scheduler::Schedule").values()}


def targets(templates: list[Template]) -> Iterator[Mapping[str, Any]]:
    """Every target of every trigger."""
    for template in templates:
        for each in starts(template).values():
            yield from each


def by_name(template: Template, kind: str, key: str, job: Job) -> Mapping[str, Any]:
    """The one resource whose property `key` is the name of the job's things."""
    name = template.name.removesuffix("jobs") + job.name
    (found,) = [properties for properties in template.of(kind).values() if properties[key] == name]
    return found


def test_each_job_with_a_schedule_has_one_trigger_with_one_target(jobs_stacks: list[Template]) -> None:
    for template, environment in zip(jobs_stacks, ENVIRONMENTS, strict=True):
        found = {name: each for name, each in starts(template).items() if name.startswith(f"{environment.prefix}-")}
        assert set(found) == {f"{environment.prefix}-{job.name}" for job in SCHEDULED}
        assert all(len(each) == 1 for each in found.values())


@WITH_TICKS
def test_a_job_in_utc_has_a_rule_and_one_in_a_zone_a_schedule_of_that_zone(
    job: Job, jobs_stacks: list[Template]
) -> None:
    for template in jobs_stacks:
        kind = "Events::Rule" if job.schedule.zone is None else "Scheduler::Schedule"
        trigger = by_name(template, kind, "Name", job)
        assert trigger["ScheduleExpression"] == job.schedule.aws
        assert trigger.get("ScheduleExpressionTimezone") == job.schedule.zone
        assert trigger["State"] == "ENABLED"


def test_what_cannot_be_delivered_is_tried_a_few_times_within_an_hour_and_then_kept(
    jobs_stacks: list[Template],
) -> None:
    for target in targets(jobs_stacks):
        assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] <= 3600
        assert target["RetryPolicy"]["MaximumRetryAttempts"] <= 5
        assert target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0].startswith("DeadLettersQueue")


@JOBS
def test_a_job_runs_where_its_limits_put_it(job: Job, jobs_stacks: list[Template]) -> None:
    placement = place(job)
    for template in jobs_stacks:
        if placement.compute == "lambda":
            function = by_name(template, "Lambda::Function", "FunctionName", job)
            assert (function["MemorySize"], function["EphemeralStorage"]["Size"]) == (placement.memory, placement.disk)
        else:
            task = by_name(template, "ECS::TaskDefinition", "Family", job)
            assert (task["Cpu"], task["Memory"]) == (str(placement.cpu), str(placement.memory))


def test_a_function_has_time_to_end_its_job_itself_and_is_never_called_again_by_lambda(
    jobs_stacks: list[Template],
) -> None:
    for template in jobs_stacks:
        configs = {each["FunctionName"]["Ref"]: each for each in template.of("Lambda::EventInvokeConfig").values()}
        assert set(configs) == set(template.of("Lambda::Function"))
        functions = {
            logical_id: function
            for logical_id, function in template.of("Lambda::Function").items()
            if "SHIFTLOCK_JOB" in function["Environment"]["Variables"]
        }
        assert functions
        for logical_id, function in functions.items():
            job = SCHEDULE.find(function["Environment"]["Variables"]["SHIFTLOCK_JOB"])
            runs = 1 if job.queue is None else job.queue.batch
            assert function["Timeout"] == min(job.longest_run.total_seconds() * runs + 30, 900)
            assert (function["Runtime"], function["Architectures"]) == ("python3.13", ["arm64"])
            entry = "lambda_entry" if job.queue is None else "queue_entry"
            assert function["Handler"] == f"handlers.runtime.{entry}.handler"
            config = configs[logical_id]
            assert (config["MaximumRetryAttempts"], config["MaximumEventAgeInSeconds"]) == (0, 3600)
            # What still ends without a word of its own, the recorder brings into the ledger.
            assert config["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0].startswith("Recorder")
            assert "OnSuccess" not in config["DestinationConfig"]


def test_a_task_is_told_to_stop_in_time_and_cannot_write_outside_tmp(jobs_stacks: list[Template]) -> None:
    for template in jobs_stacks:
        tasks = template.of("ECS::TaskDefinition")
        assert tasks
        for task in tasks.values():
            (container,) = task["ContainerDefinitions"]
            job, _, worker = task["Family"].removeprefix(template.name.removesuffix("jobs")).partition("_")
            entry = "worker_entry" if worker else "task_entry"
            assert container["Name"] == "job"
            assert container["Command"] == ["python", "-m", f"handlers.runtime.{entry}", job]
            assert container["StopTimeout"] == 120
            assert container["LinuxParameters"]["InitProcessEnabled"] is True
            assert container["ReadonlyRootFilesystem"] is True
            assert [mount["ContainerPath"] for mount in container["MountPoints"]] == ["/tmp"]
            assert container["LogConfiguration"]["Options"]["mode"] == "blocking"


@WITH_TICKS
def test_a_trigger_sends_its_kind_and_the_time_of_the_tick(job: Job, jobs_stacks: list[Template]) -> None:
    for template in jobs_stacks:
        (target,) = starts(template)[template.name.removesuffix("jobs") + job.name]
        if job.schedule.zone is None:
            assert target["InputTransformer"]["InputPathsMap"] == {"time": "$.time"}
            # EventBridge puts quotes around the value.
            sent = target["InputTransformer"]["InputTemplate"].replace("<time>", '"<time>"')
            expected = {"trigger": "rule", "time": "<time>"}
        else:
            sent, expected = target["Input"], {"trigger": "schedule", "time": "<aws.scheduler.scheduled-time>"}
        if place(job).compute == "lambda":
            assert json.loads(sent) == expected
        else:
            variables = [
                {"name": "SHIFTLOCK_TRIGGER", "value": expected["trigger"]},
                {"name": "SHIFTLOCK_EVENT_TIME", "value": expected["time"]},
            ]
            assert json.loads(sent) == {"containerOverrides": [{"name": "job", "environment": variables}]}


def test_a_trigger_starts_the_latest_revision_of_a_task_and_waits_for_the_first(jobs_stacks: list[Template]) -> None:
    for template in jobs_stacks:
        definitions = template.of("ECS::TaskDefinition")
        for resource in template.resources.values():
            properties = resource.get("Properties", {})
            for target in [*properties.get("Targets", []), *([properties["Target"]] if "Target" in properties else [])]:
                if task := target.get("EcsParameters"):
                    arn = task["TaskDefinitionArn"]["Fn::Join"][1][-1]
                    family = re.fullmatch(r":task-definition/([a-z0-9-]+)", arn)
                    assert family is not None
                    (definition,) = [key for key, each in definitions.items() if each["Family"] == family[1]]
                    assert definition in listed_dependencies(resource)
                    assert (task["LaunchType"], task["TaskCount"]) == ("FARGATE", 1)


def listed_dependencies(resource: Mapping[str, Any]) -> list[str]:
    """The DependsOn of a resource as a list."""
    given = resource.get("DependsOn", [])
    return [given] if isinstance(given, str) else list(given)


def test_tasks_have_a_public_address_only_where_nothing_else_leads_to_their_image(
    jobs_stacks: list[Template],
) -> None:
    addresses = {
        template.name: {
            network["AssignPublicIp"]
            for target in targets([template])
            for parameters in [target.get("EcsParameters", {}).get("NetworkConfiguration", {})]
            for network in parameters.values()
        }
        for template in jobs_stacks
    }
    assert addresses == {
        "shiftlock-dev-jobs": {"ENABLED"},
        "shiftlock-staging-jobs": {"DISABLED"},
        "shiftlock-prod-jobs": {"DISABLED"},
    }


@JOBS
def test_a_job_logs_to_a_group_of_its_own_that_forgets(job: Job, jobs_stacks: list[Template]) -> None:
    for template, environment in zip(jobs_stacks, ENVIRONMENTS, strict=True):
        groups = {each["LogGroupName"]: each for each in template.of("Logs::LogGroup").values()}
        assert groups[f"/shiftlock/{environment.name}/{job.name}"]["RetentionInDays"] == environment.log_days


def test_nothing_is_made_by_a_custom_resource(stacks: Mapping[str, Template]) -> None:
    kinds = {resource["Type"] for template in stacks.values() for resource in template.resources.values()}
    assert not {kind for kind in kinds if kind.startswith("Custom::") or kind.endswith("::CustomResource")}
