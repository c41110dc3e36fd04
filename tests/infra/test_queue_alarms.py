"""What wakes somebody because of a queue."""

import pytest

from handlers.declaration.duration import hours, minutes
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.declaration.signals import WATCHDOG
from handlers.schedule import SCHEDULE
from infra.queue_alarms import patience
from tests.infra.alarms import by_name
from tests.infra.templates import Template

WITH_MESSAGES = [job for job in SCHEDULE if job.queue is not None]


def stats(alarm: object) -> dict[str, tuple[str, str]]:
    """Name and statistic of each metric of an expression, by what the expression calls it."""
    assert isinstance(alarm, dict)
    return {
        each["Id"]: (each["MetricStat"]["Metric"]["MetricName"], each["MetricStat"]["Stat"])
        for each in alarm["Metrics"]
        if "MetricStat" in each
    }


def expression(alarm: object) -> str:
    """The expression that an alarm is on."""
    assert isinstance(alarm, dict)
    (result,) = (each for each in alarm["Metrics"] if each["ReturnData"])
    return str(result["Expression"])


@pytest.mark.parametrize("job", WITH_MESSAGES, ids=lambda job: job.name)
def test_one_dead_letter_wakes_somebody_and_says_how_to_look_and_send_back(
    job: Job, alarms_stacks: list[Template]
) -> None:
    for template in alarms_stacks:
        alarm = by_name(template)[f"{job.name}-dead"]
        assert (alarm["MetricName"], alarm["Statistic"]) == ("ApproximateNumberOfMessagesVisible", "Maximum")
        assert (alarm["Threshold"], alarm["EvaluationPeriods"]) == (1, 1)
        assert f"`jobs queue peek {job.name} --dead`" in alarm["AlarmDescription"]
        assert alarm["AlarmDescription"].endswith(f"`jobs queue redrive {job.name}`.")


@pytest.mark.parametrize("job", WITH_MESSAGES, ids=lambda job: job.name)
def test_messages_that_wait_for_too_long_wake_somebody_and_one_that_is_worked_on_does_not(
    job: Job, alarms_stacks: list[Template]
) -> None:
    assert job.queue is not None
    for template in alarms_stacks:
        alarm = by_name(template)[f"{job.name}-waiting"]
        assert expression(alarm) == "IF(waiting > 0, age, 0)"
        assert stats(alarm) == {
            "waiting": ("ApproximateNumberOfMessagesVisible", "Maximum"),
            "age": ("ApproximateAgeOfOldestMessage", "Maximum"),
        }
        assert alarm["Threshold"] == patience(job, job.queue).total_seconds()


def test_the_bound_has_room_for_the_delay_a_late_start_and_one_attempt() -> None:
    queue = Queue(delay=minutes(5))
    job = Job("some-job", target="a.b:c", queue=queue, longest_run=minutes(30), start_within=minutes(1))
    assert patience(job, queue) == minutes(15 + 5 + 30)
    late = Job("some-job", target="a.b:c", queue=queue, longest_run=minutes(30), start_within=hours(1))
    assert patience(late, queue) == minutes(60 + 5 + 30)


@pytest.mark.parametrize("job", WITH_MESSAGES, ids=lambda job: job.name)
def test_a_share_of_failures_wakes_somebody_only_when_there_were_enough_starts(
    job: Job, alarms_stacks: list[Template]
) -> None:
    for template in alarms_stacks:
        alarm = by_name(template)[f"{job.name}-failing"]
        assert expression(alarm) == "IF(started >= 20, 100 * failed / started, 0)"
        assert stats(alarm) == {"failed": ("RunFailed", "Sum"), "started": ("RunStarted", "Sum")}
        assert alarm["Threshold"] == 10
        assert {each["MetricStat"]["Period"] for each in alarm["Metrics"] if "MetricStat" in each} == {900}


def test_a_message_that_stays_in_the_outbox_wakes_somebody(alarms_stacks: list[Template]) -> None:
    for template in alarms_stacks:
        alarm = by_name(template)["outbox-stuck"]
        assert (alarm["MetricName"], alarm["Statistic"], alarm["Threshold"]) == ("OutboxAge", "Maximum", 300)
        assert {"Name": "job", "Value": WATCHDOG} in alarm["Dimensions"]
