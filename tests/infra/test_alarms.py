"""What wakes somebody, and that it can."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from handlers.declaration.signals import DIMENSIONS, NAMESPACE, Signal
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from tests.infra.templates import Template

# What AWS sends by itself: "EventBridge metrics", "EventBridge Scheduler metrics", "SQS metrics".
OF_AWS = {
    ("AWS/Events", "FailedInvocations"): {"RuleName"},
    ("AWS/Scheduler", "TargetErrorCount"): {"ScheduleGroup"},
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): {"QueueName"},
}


def metrics(alarm: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The metrics an alarm looks at, each with namespace, name, dimensions and period."""
    if "MetricName" in alarm:
        yield alarm
    for entry in alarm.get("Metrics", []):
        if "MetricStat" in entry:
            yield {**entry["MetricStat"]["Metric"], "Period": entry["MetricStat"]["Period"]}


def every_alarm(templates: list[Template]) -> Iterator[Mapping[str, Any]]:
    """All alarms of all environments."""
    for template in templates:
        yield from template.of("CloudWatch::Alarm").values()


def test_every_alarmed_metric_is_one_that_is_sent(jobs_stacks: list[Template], sixty: Template) -> None:
    ours = {(NAMESPACE, signal.value): set(DIMENSIONS) for signal in Signal}
    seen = set()
    for alarm in every_alarm([*jobs_stacks, sixty]):
        for metric in metrics(alarm):
            key = (metric["Namespace"], metric["MetricName"])
            assert {dimension["Name"] for dimension in metric["Dimensions"]} == (ours | OF_AWS)[key]
            seen.add(key)
    assert seen == {*OF_AWS, (NAMESPACE, Signal.FAILED), (NAMESPACE, Signal.SUCCEEDED)}


def test_each_job_has_an_alarm_on_failed_runs_and_one_on_silence(jobs_stacks: list[Template]) -> None:
    for template, environment in zip(jobs_stacks, ENVIRONMENTS, strict=True):
        names = {alarm["AlarmName"] for alarm in template.of("CloudWatch::Alarm").values()}
        for job in SCHEDULE:
            assert {f"{environment.prefix}-{job.name}-failed", f"{environment.prefix}-{job.name}-silent"} <= names


def test_every_rule_is_watched_for_starts_it_could_not_deliver(sixty: Template) -> None:
    watched = [
        dimension["Value"]
        for alarm in sixty.of("CloudWatch::Alarm").values()
        for metric in metrics(alarm)
        if metric["MetricName"] == "FailedInvocations"
        for dimension in metric["Dimensions"]
    ]
    assert sorted(watched) == sorted(rule["Name"] for rule in sixty.of("Events::Rule").values())


def test_an_expression_has_at_most_ten_metrics(sixty: Template) -> None:
    for alarm in sixty.of("CloudWatch::Alarm").values():
        assert len(list(metrics(alarm))) <= 10


def test_windows_are_within_what_cloudwatch_allows(jobs_stacks: list[Template], sixty: Template) -> None:
    for alarm in every_alarm([*jobs_stacks, sixty]):
        for metric in metrics(alarm):
            period = metric["Period"]
            assert period % 60 == 0
            longest = timedelta(days=7) if period >= 3600 else timedelta(days=1)
            assert timedelta(seconds=period * alarm["EvaluationPeriods"]) <= longest


def test_missing_data_is_bad_news_for_silence_alone(jobs_stacks: list[Template]) -> None:
    for alarm in every_alarm(jobs_stacks):
        silence = alarm["AlarmName"].endswith("-silent")
        assert alarm["TreatMissingData"] == ("breaching" if silence else "notBreaching")
        assert alarm["ComparisonOperator"] == ("LessThanThreshold" if silence else "GreaterThanOrEqualToThreshold")


def test_each_alarm_tells_the_topic_and_says_what_to_do(jobs_stacks: list[Template]) -> None:
    for alarm in every_alarm(jobs_stacks):
        assert [action["Ref"] for action in alarm["AlarmActions"]] == [action["Ref"] for action in alarm["OKActions"]]
        assert "`jobs " in alarm["AlarmDescription"]


def test_a_monthly_job_has_no_alarm_that_could_never_look_back_far_enough(sixty: Template) -> None:
    silent = {alarm["AlarmName"] for alarm in sixty.of("CloudWatch::Alarm").values() if "-silent" in alarm["AlarmName"]}
    monthly = {
        schedule["Name"]
        for schedule in sixty.of("Scheduler::Schedule").values()
        if schedule["ScheduleExpressionTimezone"] == "Europe/Berlin"
    }
    assert len(monthly) == 15
    assert len(silent) == 45
    assert not {f"{name}-silent" for name in monthly} & silent
