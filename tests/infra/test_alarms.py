"""What wakes somebody, and that it can."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from handlers.declaration.job import Job
from handlers.declaration.signals import DIMENSIONS, NAMESPACE, WATCHDOG, Signal
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from infra.silence import silence_window
from tests.infra.templates import Template

# What AWS sends by itself: "EventBridge metrics", "EventBridge Scheduler metrics", "SQS metrics".
OF_AWS = {
    ("AWS/Events", "FailedInvocations"): {"RuleName"},
    ("AWS/Scheduler", "TargetErrorCount"): {"ScheduleGroup"},
    ("AWS/Scheduler", "InvocationDroppedCount"): {"ScheduleGroup"},
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): {"QueueName"},
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): {"QueueName"},
}
WAYS = ("failed", "silent", "late", "lost", "cannot-start", "dead", "waiting", "failing")
BELOW = ("-silent", "no-watchdog-pass")
# Metrics Insights, the one query there is: a metric of ours over all jobs of the environment.
QUERY = re.compile(r"SELECT SUM\((\w+)\) FROM SCHEMA\(\"(\w+)\", (\w+), (\w+), (\w+)\) WHERE environment = '(\w+)'")
# "Amazon CloudWatch API Reference", PutCompositeAlarm.
ALARMS_OF_A_RULE, LONGEST_RULE = 100, 10_240


def ways(job: Job) -> set[str]:
    """The ways in which a job can go wrong that an alarm can see."""
    of_ticks = {"late", *(() if silence_window(job) is None else ("silent",))} if job.scheduled else set()
    of_messages = {"dead", "waiting", "failing"} if job.queue is not None else set()
    return {"failed", "lost", "cannot-start"} | of_ticks | of_messages


def metrics(alarm: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The metrics an alarm looks at, each with namespace, name, dimensions and period."""
    if "MetricName" in alarm:
        yield alarm
    for entry in alarm.get("Metrics", []):
        if "MetricStat" in entry:
            yield {**entry["MetricStat"]["Metric"], "Period": entry["MetricStat"]["Period"]}
        elif query := QUERY.fullmatch(entry["Expression"]):
            name, namespace, *dimensions, _ = query.groups()
            yield {
                "Namespace": namespace,
                "MetricName": name,
                "Dimensions": [{"Name": each} for each in dimensions],
                "Period": entry["Period"],
            }


def every_alarm(templates: list[Template]) -> Iterator[Mapping[str, Any]]:
    """All alarms of all environments, without those on other alarms."""
    for template in templates:
        yield from template.of("CloudWatch::Alarm").values()


def by_name(template: Template) -> dict[str, Mapping[str, Any]]:
    """The alarms of an environment by name, without its prefix."""
    prefix = template.name.removesuffix("alarms")
    return {alarm["AlarmName"].removeprefix(prefix): alarm for alarm in every_alarm([template])}


def test_every_alarmed_metric_is_one_that_is_sent(alarms_stacks: list[Template], alarms_of_sixty: Template) -> None:
    ours = {(NAMESPACE, signal.value): set(DIMENSIONS) for signal in Signal}
    seen = set()
    for alarm in every_alarm([*alarms_stacks, alarms_of_sixty]):
        of_this = list(metrics(alarm))
        assert of_this, alarm["AlarmName"]
        for metric in of_this:
            key = (metric["Namespace"], metric["MetricName"])
            assert {dimension["Name"] for dimension in metric["Dimensions"]} == (ours | OF_AWS)[key]
            seen.add(key)
    of_ours = {"FAILED", "SUCCEEDED", "LATE", "SECONDS_LATE", "LOST", "START_FAILED", "FENCED", "WATCHDOG_BEAT"}
    of_ours |= {"STARTED", "OUTBOX_AGE"}
    assert seen == {*OF_AWS, *((NAMESPACE, Signal[name].value) for name in of_ours)}


def test_each_job_has_an_alarm_on_each_way_it_can_go_wrong(alarms_stacks: list[Template]) -> None:
    for template in alarms_stacks:
        for job in SCHEDULE:
            assert {name for name in by_name(template) if name.startswith(f"{job.name}-")} == {
                f"{job.name}-{way}" for way in ways(job)
            }


def test_an_alarm_of_a_job_is_on_that_job_in_that_environment(alarms_stacks: list[Template]) -> None:
    for template, environment in zip(alarms_stacks, ENVIRONMENTS, strict=True):
        for job in SCHEDULE:
            for way in ways(job):
                for metric in metrics(by_name(template)[f"{job.name}-{way}"]):
                    dimensions = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
                    if way in ("dead", "waiting"):
                        end = "_dead-letters" if way == "dead" else ""
                        assert dimensions == {"QueueName": f"{environment.prefix}-{job.name}{end}"}
                        continue
                    assert dimensions == {"service": "shiftlock", "environment": environment.name, "job": job.name}


def test_no_job_can_have_an_alarm_of_a_name_that_is_taken(alarms_stacks: list[Template]) -> None:
    for template in alarms_stacks:
        shared = [name for name in by_name(template) if not name.startswith(tuple(job.name for job in SCHEDULE))]
        assert len(shared) == 7
        # With a way `x-late`, the alarm of job `a` on it would be that of job `a-x` on `late`.
        for taken in (*shared, "anything-wrong", *WAYS):
            assert not [way for way in WAYS if taken.endswith(f"-{way}")], taken


def test_a_job_is_late_when_it_started_late_or_has_not_started_by_then(alarms_stacks: list[Template]) -> None:
    for template in alarms_stacks:
        for job in (job for job in SCHEDULE if job.scheduled):
            alarm = by_name(template)[f"{job.name}-late"]
            [result] = [each for each in alarm["Metrics"] if each["ReturnData"]]
            assert result["Expression"] == f"SUM([late, waiting > {job.late_after.total_seconds():g}])"
            stats = {each["Id"]: each["MetricStat"]["Stat"] for each in alarm["Metrics"] if "MetricStat" in each}
            assert stats == {"late": "Sum", "waiting": "Maximum"}
            assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (1, "GreaterThanOrEqualToThreshold")


def test_one_start_in_vain_wakes_nobody_and_three_within_an_hour_do(alarms_stacks: list[Template]) -> None:
    for template in alarms_stacks:
        alarm = by_name(template)["session-cleanup-cannot-start"]
        assert (alarm["Threshold"], alarm["Period"], alarm["EvaluationPeriods"]) == (3, 3600, 1)


def test_a_watchdog_that_makes_no_pass_is_missed_within_a_quarter_of_an_hour(alarms_stacks: list[Template]) -> None:
    for template in alarms_stacks:
        alarm = by_name(template)["no-watchdog-pass"]
        assert {"Name": "job", "Value": WATCHDOG} in alarm["Dimensions"]
        assert (alarm["Period"], alarm["EvaluationPeriods"], alarm["Threshold"]) == (300, 3, 1)
        assert (alarm["TreatMissingData"], alarm["ComparisonOperator"]) == ("breaching", "LessThanThreshold")


def test_dead_letters_wake_somebody_at_once_and_again_when_nobody_dealt_with_them(
    alarms_stacks: list[Template],
) -> None:
    for template, environment in zip(alarms_stacks, ENVIRONMENTS, strict=True):
        alarms = by_name(template)
        depth, age = alarms["dead-letters"], alarms["dead-letters-old"]
        queue = [{"Name": "QueueName", "Value": f"{environment.prefix}-dead-letters"}]
        assert depth["Dimensions"] == age["Dimensions"] == queue
        assert (depth["Threshold"], depth["Statistic"]) == (1, "Maximum")
        assert (age["Threshold"], age["Statistic"]) == (24 * 3600, "Maximum")


def test_names_of_what_is_watched_are_those_of_the_stacks_that_have_it(
    jobs_stacks: list[Template], data_stacks: list[Template], alarms_stacks: list[Template]
) -> None:
    for jobs, data, alarms in zip(jobs_stacks, data_stacks, alarms_stacks, strict=True):
        watched = {
            (dimension["Name"], dimension["Value"])
            for alarm in every_alarm([alarms])
            for metric in metrics(alarm)
            if metric["Namespace"].startswith("AWS/")
            for dimension in metric["Dimensions"]
        }
        there = {("RuleName", rule["Name"]) for rule in jobs.of("Events::Rule").values()}
        there.add(("ScheduleGroup", jobs.only("Scheduler::ScheduleGroup")["Name"]))
        there.add(("QueueName", jobs.only("SQS::Queue")["QueueName"]))
        there |= {("QueueName", queue["QueueName"]) for queue in data.of("SQS::Queue").values()}
        assert watched == there


def test_every_rule_is_watched_for_starts_it_could_not_deliver(sixty: Template, alarms_of_sixty: Template) -> None:
    watched = [
        dimension["Value"]
        for alarm in every_alarm([alarms_of_sixty])
        for metric in metrics(alarm)
        if metric["MetricName"] == "FailedInvocations"
        for dimension in metric["Dimensions"]
    ]
    assert sorted(watched) == sorted(rule["Name"] for rule in sixty.of("Events::Rule").values())


def test_an_expression_has_at_most_ten_metrics(alarms_of_sixty: Template) -> None:
    for alarm in every_alarm([alarms_of_sixty]):
        assert len(list(metrics(alarm))) <= 10


def test_windows_are_within_what_cloudwatch_allows(alarms_stacks: list[Template], alarms_of_sixty: Template) -> None:
    for alarm in every_alarm([*alarms_stacks, alarms_of_sixty]):
        for metric in metrics(alarm):
            period = metric["Period"]
            assert period % 60 == 0
            longest = timedelta(days=7) if period >= 3600 else timedelta(days=1)
            assert timedelta(seconds=period * alarm["EvaluationPeriods"]) <= longest


def test_missing_data_is_bad_news_for_silence_and_the_watchdog_alone(alarms_stacks: list[Template]) -> None:
    for alarm in every_alarm(alarms_stacks):
        below = alarm["AlarmName"].endswith(BELOW)
        assert alarm["TreatMissingData"] == ("breaching" if below else "notBreaching")
        assert alarm["ComparisonOperator"] == ("LessThanThreshold" if below else "GreaterThanOrEqualToThreshold")


def test_each_alarm_tells_the_topic(alarms_stacks: list[Template]) -> None:
    for template in alarms_stacks:
        [topic] = template.of("SNS::Topic")
        for alarm in every_alarm([template]):
            assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}]


def test_each_alarm_ends_with_the_command_to_act(alarms_stacks: list[Template], alarms_of_sixty: Template) -> None:
    for template in (*alarms_stacks, alarms_of_sixty):
        both = (*every_alarm([template]), *template.of("CloudWatch::CompositeAlarm").values())
        for alarm in both:
            assert re.search(r"`jobs [a-z]+[^`]*`\.$", alarm["AlarmDescription"]), alarm["AlarmDescription"]


def test_one_alarm_is_on_while_any_other_is_and_tells_nobody_again(
    alarms_stacks: list[Template], alarms_of_sixty: Template
) -> None:
    for template in (*alarms_stacks, alarms_of_sixty):
        prefix = template.name.removesuffix("alarms")
        below: dict[str, set[str]] = {}
        for alarm in template.of("CloudWatch::CompositeAlarm").values():
            rule = alarm["AlarmRule"]
            below[alarm["AlarmName"]] = set(re.findall(r'ALARM\("([^"]+)"\)', rule))
            assert rule == " OR ".join(f'ALARM("{name}")' for name in re.findall(r'ALARM\("([^"]+)"\)', rule))
            assert len(below[alarm["AlarmName"]]) <= ALARMS_OF_A_RULE
            assert len(rule) <= LONGEST_RULE
            assert "AlarmActions" not in alarm
        seen, open_ones = set(), {f"{prefix}anything-wrong"}
        while open_ones:
            seen |= open_ones
            open_ones = set().union(*(below.get(name, set()) for name in open_ones)) - seen
        assert seen == below.keys() | {alarm["AlarmName"] for alarm in every_alarm([template])}


def test_an_alarm_on_alarms_comes_after_them(alarms_of_sixty: Template) -> None:
    names = {
        logical_id: resource["Properties"]["AlarmName"]
        for logical_id, resource in alarms_of_sixty.resources.items()
        if resource["Type"] in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
    }
    composites = alarms_of_sixty.of("CloudWatch::CompositeAlarm")
    assert len(composites) > 1
    for logical_id, alarm in composites.items():
        before = {names[each] for each in alarms_of_sixty.resources[logical_id]["DependsOn"]}
        assert before == set(re.findall(r'ALARM\("([^"]+)"\)', alarm["AlarmRule"]))


def test_a_monthly_job_has_no_alarm_that_could_never_look_back_far_enough(
    sixty: Template, alarms_of_sixty: Template
) -> None:
    silent = {alarm["AlarmName"] for alarm in every_alarm([alarms_of_sixty]) if "-silent" in alarm["AlarmName"]}
    monthly = {
        schedule["Name"]
        for schedule in sixty.of("Scheduler::Schedule").values()
        if schedule["ScheduleExpressionTimezone"] == "Europe/Berlin"
    }
    assert len(monthly) == 10
    assert len(silent) == 40
    assert not {f"{name}-silent" for name in monthly} & silent
