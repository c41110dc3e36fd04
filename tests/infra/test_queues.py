"""The queues of jobs: what each is made of, and that what it holds outlives a deploy."""

from collections.abc import Mapping
from typing import Any

import pytest

from handlers.declaration.job import Job
from handlers.declaration.queue_limits import receives, visibility
from handlers.queues.address import dead_letters_url, queue_url
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from tests.infra.grants import queue_of
from tests.infra.templates import Template

WITH_MESSAGES = [job for job in SCHEDULE if job.queue is not None]
JOBS = pytest.mark.parametrize("job", WITH_MESSAGES, ids=lambda job: job.name)
FIFO_JOB = "job-05-"


def queues(template: Template) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Logical id and resource of each queue by the queue's name, without the environment's prefix."""
    prefix = template.name.removesuffix("data")
    return {
        resource["Properties"]["QueueName"].removeprefix(prefix): (logical_id, resource)
        for logical_id, resource in template.resources.items()
        if resource["Type"] == "AWS::SQS::Queue"
    }


def both(template: Template, job: Job) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The properties of a job's queue, and of the queue of its dead letters."""
    found = queues(template)
    return found[job.name][1]["Properties"], found[f"{job.name}_dead-letters"][1]["Properties"]


def test_each_job_with_a_queue_has_two_in_the_stack_of_the_database_and_no_other_job_has_any(
    data_stacks: list[Template],
) -> None:
    for template in data_stacks:
        expected = {f"{job.name}{end}" for job in WITH_MESSAGES for end in ("", "_dead-letters")}
        assert queues(template).keys() == expected


@JOBS
def test_a_message_that_nobody_answers_for_goes_to_the_dead_letters_of_its_own_queue(
    job: Job, data_stacks: list[Template]
) -> None:
    assert job.queue is not None
    for template in data_stacks:
        queue, buried = both(template, job)
        (logical_id, _) = queues(template)[f"{job.name}_dead-letters"]
        assert queue["RedrivePolicy"] == {
            "deadLetterTargetArn": {"Fn::GetAtt": [logical_id, "Arn"]},
            "maxReceiveCount": receives(job, job.queue),
        }
        allowed = buried["RedriveAllowPolicy"]
        assert allowed["redrivePermission"] == "byQueue"
        assert [queue_of(arn) for arn in allowed["sourceQueueArns"]] == [queue["QueueName"]]
        assert "RedrivePolicy" not in buried


@JOBS
def test_times_are_those_of_the_declaration_and_dead_letters_are_kept_as_long_as_can_be(
    job: Job, data_stacks: list[Template]
) -> None:
    assert job.queue is not None
    for template in data_stacks:
        queue, buried = both(template, job)
        assert queue["MessageRetentionPeriod"] == job.queue.retention.total_seconds()
        assert queue["DelaySeconds"] == job.queue.delay.total_seconds()
        assert queue["VisibilityTimeout"] == visibility(job, job.queue).total_seconds()
        assert buried["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_a_function_has_ended_long_before_its_messages_are_shown_to_others(
    jobs_stacks: list[Template], data_stacks: list[Template]
) -> None:
    for jobs, data in zip(jobs_stacks, data_stacks, strict=True):
        for mapping in jobs.of("Lambda::EventSourceMapping").values():
            function = jobs.of("Lambda::Function")[mapping["FunctionName"]["Fn::GetAtt"][0]]
            name = queue_of(mapping["EventSourceArn"]).removeprefix(data.name.removesuffix("data"))
            queue = queues(data)[name][1]["Properties"]
            assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]


def test_every_queue_is_encrypted_and_refuses_what_comes_without_tls(data_stacks: list[Template]) -> None:
    for template in data_stacks:
        guarded = {}
        for policy in template.of("SQS::QueuePolicy").values():
            ((statement,), (queue,)) = (policy["PolicyDocument"]["Statement"], policy["Queues"])
            assert (statement["Effect"], statement["Action"], statement["Principal"]) == ("Deny", "sqs:*", {"AWS": "*"})
            assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
            guarded[queue["Ref"]] = statement["Resource"]
        for logical_id, resource in queues(template).values():
            assert guarded[logical_id] == {"Fn::GetAtt": [logical_id, "Arn"]}
            assert resource["Properties"]["SqsManagedSseEnabled"] is True


def test_messages_of_prod_are_kept_when_their_queue_leaves_the_stack(data_stacks: list[Template]) -> None:
    for template, environment in zip(data_stacks, ENVIRONMENTS, strict=True):
        kept = {(each["DeletionPolicy"], each["UpdateReplacePolicy"]) for _, each in queues(template).values()}
        assert kept == {("Retain", "Retain") if environment.protected else ("Delete", "Delete")}


def test_a_fifo_queue_keeps_the_order_of_a_partition_and_trusts_the_sender_about_duplicates(
    others: Mapping[str, Template],
) -> None:
    found = [
        each["Properties"]
        for name, (_, each) in queues(others["shiftlock-nat-data"]).items()
        if name.startswith(FIFO_JOB)
    ]
    assert len(found) == 2
    for queue in found:
        assert queue["QueueName"].endswith(".fifo")
        assert (queue["FifoQueue"], queue["ContentBasedDeduplication"]) == (True, False)
        assert (queue["DeduplicationScope"], queue["FifoThroughputLimit"]) == ("messageGroup", "perMessageGroupId")


def test_stack_and_sender_call_a_queue_the_same(others: Mapping[str, Template]) -> None:
    from tests.infra.conftest import WITH_NAT, jobs_of_all_kinds

    jobs = [job for job in jobs_of_all_kinds(6) if job.queue is not None]
    template = others[WITH_NAT.jobs_stack]
    (watchdog,) = (each for each in template.of("Lambda::Function").values() if "watchdog" in each["Handler"])
    base = watchdog["Environment"]["Variables"]["SHIFTLOCK_QUEUES"]
    # Account and region are known there; the domain is the partition's.
    start, domain, end = base["Fn::Join"][1]
    assert (start, domain, end) == (
        "https://sqs.eu-west-1.",
        {"Ref": "AWS::URLSuffix"},
        "/111122223333/shiftlock-nat-",
    )
    urls = {url(end, job).rpartition("/")[2] for job in jobs for url in (queue_url, dead_letters_url)}
    made = {queue["QueueName"] for queue in others[WITH_NAT.data_stack].of("SQS::Queue").values()}
    assert urls == made


def test_the_longest_name_of_a_queue_is_within_what_sqs_allows(data_of_sixty: Template) -> None:
    names = [queue["QueueName"] for queue in data_of_sixty.of("SQS::Queue").values()]
    assert len(names) == 40
    longest_environment = 10 - len("staging")
    assert max(map(len, names)) + longest_environment <= 80


def test_services_find_in_the_outputs_where_to_send(data_stacks: list[Template]) -> None:
    import json

    for template in data_stacks:
        outputs = json.loads(template.path.read_text())["Outputs"]
        (bucket,) = template.of("S3::Bucket")
        assert outputs["FilesOfJobs"]["Value"] == {"Ref": bucket}
        assert outputs["QueuesOfJobs"]["Value"]["Fn::Join"][1][-1] == f"/{template.name.removesuffix('data')}"
