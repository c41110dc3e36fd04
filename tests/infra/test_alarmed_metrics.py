"""What alarms look at: metrics that are sent, of what is there, over times that CloudWatch allows."""

from datetime import timedelta

from handlers.declaration.signals import DIMENSIONS, NAMESPACE, Signal
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from tests.infra.alarms import by_name, every_alarm, metrics, ways
from tests.infra.templates import Template

# What AWS sends by itself: "EventBridge metrics", "EventBridge Scheduler metrics", "SQS metrics".
OF_AWS = {
    ("AWS/Events", "FailedInvocations"): {"RuleName"},
    ("AWS/Scheduler", "TargetErrorCount"): {"ScheduleGroup"},
    ("AWS/Scheduler", "InvocationDroppedCount"): {"ScheduleGroup"},
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): {"QueueName"},
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): {"QueueName"},
}


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
