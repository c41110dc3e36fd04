"""What a job may do with queues and files: all that its entry in the table says, and no more."""

from collections.abc import Mapping
from typing import Any

import pytest

from handlers.declaration.job import Job
from handlers.declaration.placement import place
from handlers.schedule import SCHEDULE
from tests.infra.conftest import BY_CLOCK, jobs_of_all_kinds
from tests.infra.grants import OF_WORK, folder_of, queue_of
from tests.infra.templates import Template, listed, statements

JOBS = pytest.mark.parametrize("job", SCHEDULE.jobs, ids=lambda job: job.name)


def held(template: Template, job: Job) -> dict[str, Mapping[str, Any]]:
    """The statements by Sid of the role that runs a job."""
    name = template.name.removesuffix("jobs") + job.name
    if place(job).compute == "lambda":
        (role,) = (each["Role"] for each in template.of("Lambda::Function").values() if each["FunctionName"] == name)
    else:
        (role,) = (
            each["TaskRoleArn"] for each in template.of("ECS::TaskDefinition").values() if each["Family"] == name
        )
    return {each["Sid"]: each for owner, each in statements(template) if owner == role["Fn::GetAtt"][0]}


def named(statement: Mapping[str, Any], part: Any) -> set[str]:
    """What a statement's resources name, by one of `queue_of` and `folder_of`."""
    return {part(arn) for arn in listed(statement["Resource"])}


@JOBS
def test_a_job_has_the_statements_that_its_entry_calls_for(job: Job, jobs_stacks: list[Template]) -> None:
    expected = set()
    if job.reads:
        expected.add("ReadFiles")
    if job.writes:
        expected.add("WriteFiles")
    if job.sends or job.queue is not None:
        expected.add("SendMessages")
    if job.queue is not None:
        expected |= {"ReadPayloads", "TakeMessages", "BuryMessages"}
    for template in jobs_stacks:
        assert held(template, job).keys() & OF_WORK == expected


@JOBS
def test_it_sends_to_the_queues_it_names_and_its_own_takes_from_its_own_and_buries_beside_it(
    job: Job, jobs_stacks: list[Template]
) -> None:
    for template in jobs_stacks:
        prefix, holds = template.name.removesuffix("jobs"), held(template, job)
        receivers = {*job.sends, *([job.name] if job.queue is not None else [])}
        if receivers:
            assert holds["SendMessages"]["Action"] == "sqs:SendMessage"
            assert named(holds["SendMessages"], queue_of) == {f"{prefix}{name}" for name in receivers}
        if job.queue is not None:
            assert holds["TakeMessages"]["Action"] == [
                "sqs:ChangeMessageVisibility",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ReceiveMessage",
            ]
            assert named(holds["TakeMessages"], queue_of) == {f"{prefix}{job.name}"}
            assert holds["BuryMessages"]["Action"] == "sqs:SendMessage"
            assert named(holds["BuryMessages"], queue_of) == {f"{prefix}{job.name}_dead-letters"}


@JOBS
def test_it_reads_and_writes_its_own_folders_of_the_one_bucket(job: Job, jobs_stacks: list[Template]) -> None:
    for template in jobs_stacks:
        holds = held(template, job)
        folders = {
            "ReadFiles": (set(job.reads), "s3:GetObject"),
            "WriteFiles": (set(job.writes), ["s3:AbortMultipartUpload", "s3:PutObject"]),
            "ReadPayloads": ({f"payloads/{job.name}/"}, "s3:GetObject"),
        }
        for sid in folders.keys() & holds.keys():
            folder, action = folders[sid]
            assert (named(holds[sid], folder_of), holds[sid]["Action"]) == (folder, action)
            (imported,) = {
                part["Fn::ImportValue"]
                for arn in listed(holds[sid]["Resource"])
                for part in arn["Fn::Join"][1]
                if "Fn::ImportValue" in part
            }
            assert imported.startswith(f"{template.name.removesuffix('jobs')}data:ExportsOutputRefFilesBucket")


def test_who_works_or_sends_is_told_where_files_and_queues_are_and_nobody_else(jobs_stacks: list[Template]) -> None:
    told = {"SHIFTLOCK_FILES", "SHIFTLOCK_QUEUES"}
    for template in jobs_stacks:
        for function in template.of("Lambda::Function").values():
            variables = function["Environment"]["Variables"].keys()
            works = "SHIFTLOCK_JOB" in variables or function["FunctionName"].endswith("_watchdog")
            assert variables & told == (told if works else set())
        for task in template.of("ECS::TaskDefinition").values():
            (container,) = task["ContainerDefinitions"]
            assert {each["Name"] for each in container["Environment"]} >= told


def test_a_clock_may_reach_the_files_of_all_jobs_and_no_queue(others: Mapping[str, Template]) -> None:
    template, table = others[BY_CLOCK.jobs_stack], jobs_of_all_kinds(6)
    holds = {each["Sid"]: each for owner, each in statements(template) if owner.startswith("ClockRole")}
    assert named(holds["ReadFiles"], folder_of) == {folder for job in table for folder in job.reads}
    assert named(holds["WriteFiles"], folder_of) == {folder for job in table for folder in job.writes}
    assert not [action for each in holds.values() for action in listed(each["Action"]) if action.startswith("sqs:")]
    (container,) = template.only("ECS::TaskDefinition")["ContainerDefinitions"]
    variables = {each["Name"] for each in container["Environment"]}
    assert "SHIFTLOCK_FILES" in variables
    assert "SHIFTLOCK_QUEUES" not in variables
