"""Sixty jobs with the longest names: what fits for three must still fit for them."""

import re
from collections import Counter

from tests.infra.templates import Template, listed, statements

# "AWS CloudFormation quotas".
RESOURCES_OF_A_STACK = 500
TEMPLATE_BYTES = 1_000_000
# "Amazon EventBridge quotas" and, for overrides, "Amazon ECS API reference", TaskOverride.
RULE_NAME = SCHEDULE_NAME = 64
INPUT = OVERRIDES = 8192
# "Amazon SQS policy quotas".
STATEMENTS_OF_A_QUEUE = 20
# "Amazon CloudWatch API reference", PutMetricAlarm.
ALARM_DESCRIPTION = 1024


def test_sixty_jobs_fit_one_stack_and_their_alarms_another(
    sixty: Template, alarms_of_sixty: Template, data_of_sixty: Template
) -> None:
    triggers = [*sixty.of("Events::Rule").values(), *sixty.of("Scheduler::Schedule").values()]
    assert sum("_" not in trigger["Name"] for trigger in triggers) == 50
    assert len(sixty.of("Lambda::EventSourceMapping")) == len(sixty.of("ECS::Service")) == 10
    for template in (sixty, alarms_of_sixty, data_of_sixty):
        assert len(template.resources) <= RESOURCES_OF_A_STACK
        assert template.path.stat().st_size < TEMPLATE_BYTES


def test_how_many_jobs_of_each_kind_fit_if_all_are_of_that_kind(sixty: Template, alarms_of_sixty: Template) -> None:
    room = {}
    for template in (sixty, alarms_of_sixty):
        ids = template.resources
        of_jobs = Counter(int(owner[1]) for logical_id in ids if (owner := re.match(r"job(\d\d)", logical_id)))
        assert len(of_jobs) == 60
        # One alarm watches ten rules, and only 30 of these jobs have one. A hundred alarms need one over them.
        shared = len(ids) - of_jobs.total() + 60 // 10 - 30 // 10 + 2
        room[template.name] = [(RESOURCES_OF_A_STACK - shared) // of_jobs[kind] for kind in range(6)]
    fewest = [min(each) for each in zip(*room.values(), strict=True)]
    # Without a queue; with one on Lambda, beside a schedule; with one on Fargate, whose workers are seven resources.
    assert min(fewest[:4]) >= 75
    assert fewest[4] >= 58
    assert fewest[5] >= 45
    # A schedule beside that queue has two more, a role and a rule or schedule.
    assert (RESOURCES_OF_A_STACK - 40) // (10 + 2) >= 38


def test_names_and_inputs_stay_within_the_limits_of_aws(sixty: Template, alarms_of_sixty: Template) -> None:
    for rule in sixty.of("Events::Rule").values():
        assert len(rule["Name"]) <= RULE_NAME
        if "_" not in rule["Name"]:
            assert len(rule["Targets"][0]["InputTransformer"]["InputTemplate"]) <= min(INPUT, OVERRIDES)
    for schedule in sixty.of("Scheduler::Schedule").values():
        assert len(schedule["Name"]) <= SCHEDULE_NAME
        assert len(schedule["Target"]["Input"]) <= OVERRIDES
    for function in sixty.of("Lambda::Function").values():
        assert len(function["FunctionName"]) <= 64
    composites = alarms_of_sixty.of("CloudWatch::CompositeAlarm").values()
    for alarm in (*alarms_of_sixty.of("CloudWatch::Alarm").values(), *composites):
        assert len(alarm["AlarmDescription"]) <= ALARM_DESCRIPTION
        assert len(alarm["AlarmName"]) <= 255


def test_sixty_jobs_need_one_statement_of_the_dead_letter_queue(sixty: Template) -> None:
    policy = sixty.only("SQS::QueuePolicy")["PolicyDocument"]["Statement"]
    assert len(policy) < STATEMENTS_OF_A_QUEUE
    (for_rules,) = [each for each in policy if each["Sid"] == "RulesSendDeadLetters"]
    patterns = [each["Fn::Join"][1][-1] for each in for_rules["Condition"]["ArnLike"]["aws:SourceArn"]]
    prefixes = tuple(pattern.removeprefix(":rule/").removesuffix("*") for pattern in patterns)
    assert prefixes == ("shiftlock-staging-", "shiftlock-staging_")
    assert all(rule["Name"].startswith(prefixes) for rule in sixty.of("Events::Rule").values())


def test_no_policy_but_those_of_dispatcher_and_watchdog_grow_with_the_number_of_jobs(sixty: Template) -> None:
    sizes: dict[str, int] = {}
    for logical_id, statement in statements(sixty):
        sizes[logical_id] = (
            sizes.get(logical_id, 0) + len(listed(statement["Action"])) + len(listed(statement["Resource"]))
        )
    # They name each function and role, and each queue; test_platform_permissions.py has how much room that leaves.
    growing = {logical_id for logical_id, size in sizes.items() if size >= 36 and not logical_id.startswith("job")}
    assert max(size for logical_id, size in sizes.items() if logical_id.startswith("job")) < 48
    assert growing == {"DispatcherFunctionRole57B60EE4", "WatchdogFunctionRole12E09690"}
