"""What wakes somebody, and that it can."""

import re

from handlers.declaration.signals import WATCHDOG
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from tests.infra.alarms import by_name, every_alarm, ways
from tests.infra.templates import Template

WAYS = ("failed", "silent", "late", "lost", "cannot-start", "dead", "waiting", "failing")
BELOW = ("-silent", "no-watchdog-pass")
# "Amazon CloudWatch API Reference", PutCompositeAlarm.
ALARMS_OF_A_RULE, LONGEST_RULE = 100, 10_240


def test_each_job_has_an_alarm_on_each_way_it_can_go_wrong(alarms_stacks: list[Template]) -> None:
    for template in alarms_stacks:
        for job in SCHEDULE:
            assert {name for name in by_name(template) if name.startswith(f"{job.name}-")} == {
                f"{job.name}-{way}" for way in ways(job)
            }


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
