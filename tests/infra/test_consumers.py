"""What takes the messages of a queue: Lambda's poller for a function, or workers on Fargate."""

from collections.abc import Mapping
from typing import Any

from handlers.declaration.placement import place
from handlers.schedule import SCHEDULE
from infra.worker_scaling import Step, steps
from tests.infra.conftest import WITH_NAT
from tests.infra.grants import queue_of
from tests.infra.templates import Template

ON_LAMBDA = [job for job in SCHEDULE if job.queue is not None and place(job).compute == "lambda"]
ON_FARGATE = [job for job in SCHEDULE if job.queue is not None and place(job).compute == "fargate"]


def only(template: Template, kind: str, **properties: object) -> Mapping[str, Any]:
    """The one resource of a type that has these properties."""
    (found,) = (each for each in template.of(kind).values() if properties.items() <= each.items())
    return found


def test_a_queue_on_lambda_is_polled_by_one_mapping_that_hears_of_each_message_that_failed(
    jobs_stacks: list[Template],
) -> None:
    assert ON_LAMBDA
    for template in jobs_stacks:
        prefix = template.name.removesuffix("jobs")
        found = {queue_of(each["EventSourceArn"]): each for each in template.of("Lambda::EventSourceMapping").values()}
        assert found.keys() == {f"{prefix}{job.name}" for job in ON_LAMBDA}
        for job in ON_LAMBDA:
            assert job.queue is not None
            mapping = found[f"{prefix}{job.name}"]
            function = template.of("Lambda::Function")[mapping["FunctionName"]["Fn::GetAtt"][0]]
            assert function["FunctionName"] == f"{prefix}{job.name}"
            assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
            assert mapping["BatchSize"] == job.queue.batch
            assert mapping["ScalingConfig"] == {"MaximumConcurrency": job.queue.concurrency}
            assert mapping["Enabled"] is True
            assert "ReservedConcurrentExecutions" not in function


def test_a_queue_on_fargate_has_a_service_of_workers_that_run_what_the_job_runs(jobs_stacks: list[Template]) -> None:
    assert ON_FARGATE
    for template in jobs_stacks:
        prefix = template.name.removesuffix("jobs")
        assert len(template.of("ECS::Service")) == len(ON_FARGATE)
        for job in ON_FARGATE:
            service = only(template, "ECS::Service", ServiceName=f"{prefix}{job.name}_worker")
            worker = template.of("ECS::TaskDefinition")[service["TaskDefinition"]["Ref"]]
            once = only(template, "ECS::TaskDefinition", Family=f"{prefix}{job.name}")
            assert worker["Family"] == f"{prefix}{job.name}_worker"
            for alike in ("Cpu", "Memory", "TaskRoleArn", "ExecutionRoleArn", "RuntimePlatform", "NetworkMode"):
                assert worker[alike] == once[alike]
            ((ours,), (theirs,)) = (worker["ContainerDefinitions"], once["ContainerDefinitions"])
            for alike in theirs.keys() - {"Command"}:
                assert ours[alike] == theirs[alike]


def test_a_deploy_changes_no_number_of_workers_and_never_has_more_than_are_allowed(
    jobs_stacks: list[Template],
) -> None:
    for template in jobs_stacks:
        for service in template.of("ECS::Service").values():
            assert "DesiredCount" not in service
            assert service["DeploymentConfiguration"] == {
                "MinimumHealthyPercent": 0,
                "MaximumPercent": 100,
                "DeploymentCircuitBreaker": {"Enable": True, "Rollback": True},
            }
            network = service["NetworkConfiguration"]["AwsvpcConfiguration"]
            assert network["AssignPublicIp"] == ("ENABLED" if "-dev-" in template.name else "DISABLED")


def test_workers_are_none_or_as_many_as_the_queue_allows(jobs_stacks: list[Template]) -> None:
    for template in jobs_stacks:
        targets = template.of("ApplicationAutoScaling::ScalableTarget")
        assert len(targets) == len(ON_FARGATE)
        for job, target in zip(ON_FARGATE, targets.values(), strict=True):
            assert job.queue is not None
            assert (target["MinCapacity"], target["MaxCapacity"]) == (0, job.queue.concurrency)
            first, service = target["ResourceId"]["Fn::Join"][1]
            assert first == f"service/{template.name.removesuffix('-jobs')}"
            assert service["Fn::GetAtt"][0] in template.of("ECS::Service")


def scaled_by(template: Template, adjustment: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The policy with this kind of adjustment, and the alarm that applies it, of the first queue on Fargate."""
    ((logical_id, policy),) = (
        (key, each)
        for key, each in template.of("ApplicationAutoScaling::ScalingPolicy").items()
        if each["StepScalingPolicyConfiguration"]["AdjustmentType"] == adjustment
    )
    alarm = only(template, "CloudWatch::Alarm", AlarmActions=[{"Ref": logical_id}])
    return policy["StepScalingPolicyConfiguration"], alarm


def test_messages_that_wait_add_workers_and_never_end_any(jobs_stacks: list[Template]) -> None:
    (job,) = ON_FARGATE
    for template in jobs_stacks:
        policy, alarm = scaled_by(template, "ChangeInCapacity")
        assert (alarm["MetricName"], alarm["Statistic"]) == ("ApproximateNumberOfMessagesVisible", "Maximum")
        name = f"{template.name.removesuffix('jobs')}{job.name}"
        assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": name}]
        assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (1, "GreaterThanOrEqualToThreshold")
        assert (alarm["Period"], alarm["EvaluationPeriods"]) == (60, 1)
        first, *_, last = policy["StepAdjustments"]
        assert (first["MetricIntervalLowerBound"], first["ScalingAdjustment"]) == (0, 1)
        assert "MetricIntervalUpperBound" not in last
        assert all(step["ScalingAdjustment"] > 0 for step in policy["StepAdjustments"])


def test_workers_end_only_after_minutes_in_which_nothing_waited_and_nothing_was_under_way(
    jobs_stacks: list[Template],
) -> None:
    for template in jobs_stacks:
        policy, alarm = scaled_by(template, "ExactCapacity")
        assert policy["StepAdjustments"] == [{"MetricIntervalUpperBound": 0, "ScalingAdjustment": 0}]
        names = {each["MetricStat"]["Metric"]["MetricName"] for each in alarm["Metrics"] if "MetricStat" in each}
        assert names == {"ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible"}
        (result,) = (each for each in alarm["Metrics"] if each["ReturnData"])
        assert result["Expression"] == "waiting + taken"
        assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (1, "LessThanThreshold")
        assert alarm["EvaluationPeriods"] >= 3
        # Without data nothing is known, and a worker may be at work.
        assert alarm["TreatMissingData"] == "notBreaching"


def test_the_steps_of_a_queue_meet_without_a_gap_and_the_last_reaches_all_workers() -> None:
    assert [*steps(1)] == [Step(1, 1)]
    assert [*steps(4)] == [Step(1, 1), Step(100, 4)]
    assert [*steps(10)] == [Step(1, 1), Step(10, 3), Step(100, 10)]
    for concurrency in range(1, 1001):
        found = [*steps(concurrency)]
        assert found == sorted(found, key=lambda step: (step.waiting, step.workers))
        assert found[-1].workers == concurrency


def test_a_job_that_is_off_takes_no_messages_and_its_waiting_ones_wake_nobody(others: Mapping[str, Template]) -> None:
    jobs, alarms = others[WITH_NAT.jobs_stack], others[WITH_NAT.alarms_stack]
    assert jobs.only("Lambda::EventSourceMapping")["Enabled"] is False
    assert jobs.only("ApplicationAutoScaling::ScalableTarget")["MaxCapacity"] == 0
    names = [alarm["AlarmName"] for alarm in alarms.of("CloudWatch::Alarm").values()]
    assert sum(name.endswith("-dead") for name in names) == 2
    assert not [name for name in names if name.endswith("-waiting")]
