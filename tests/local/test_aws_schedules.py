"""When a schedule is due, read from ministack's own stores."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ops.local.aws.delivery import Courier
from ops.local.aws.internals import scheduler
from ops.local.aws.schedules import Schedules
from ops.local.aws.targets import Targets
from ops.local.aws.under_way import UnderWay

MIDNIGHT = datetime(2026, 3, 28, 0, 0, tzinfo=UTC)


@pytest.fixture
def schedules() -> Iterator[Schedules]:
    yield Schedules(Targets(Courier("http://127.0.0.1:9", "us-east-1"), "us-east-1", UnderWay()), "us-east-1")
    scheduler.reset()


@pytest.mark.parametrize(
    ("expression", "zone", "tick"),
    [
        ("cron(0 2 * * ? *)", "UTC", "2026-03-28T02:00:00"),
        ("cron(0 2 * * ? *)", "Asia/Riyadh", "2026-03-28T23:00:00"),
        ("cron(0 9 * * ? *)", "Europe/Berlin", "2026-03-28T08:00:00"),
        ("cron(0 9 ? * SUN *)", "Europe/Berlin", "2026-03-29T07:00:00"),
        ("cron(30 2 29 3 ? 2026)", "Europe/Rome", None),
    ],
)
def test_a_schedule_is_due_at_its_wall_clock_time(
    schedules: Schedules, expression: str, zone: str, tick: str | None
) -> None:
    create("one", expression, zone)
    assert schedules.due(MIDNIGHT) == []
    expected = datetime.fromisoformat(tick).replace(tzinfo=UTC) if tick else None
    due = [at for hour in range(48) for _, at in schedules.due(MIDNIGHT + timedelta(hours=hour)) if at.day < 30][:1]
    assert due == ([expected] if expected else [])


def test_a_tick_is_due_once(schedules: Schedules) -> None:
    create("one", "cron(0 2 * * ? *)")
    schedules.due(MIDNIGHT)
    at_two = MIDNIGHT.replace(hour=2)
    assert [tick for _, tick in schedules.due(at_two)] == [at_two]
    assert schedules.due(at_two + timedelta(seconds=1)) == []


def test_a_machine_that_slept_gets_the_latest_tick_alone(schedules: Schedules) -> None:
    create("one", "cron(0/15 * * * ? *)")
    schedules.due(MIDNIGHT)
    woken = MIDNIGHT + timedelta(hours=3, minutes=20)
    assert [tick for _, tick in schedules.due(woken)] == [MIDNIGHT + timedelta(hours=3, minutes=15)]


def test_a_schedule_that_changes_is_due_by_its_new_expression(schedules: Schedules) -> None:
    create("one", "cron(0 2 * * ? *)")
    schedules.due(MIDNIGHT)
    scheduler._update_schedule("one", body("cron(0 3 * * ? *)", "UTC"))
    assert schedules.due(MIDNIGHT.replace(hour=2, minute=30)) == []
    assert [tick.hour for _, tick in schedules.due(MIDNIGHT.replace(hour=3))] == [3]


@pytest.mark.parametrize(
    "more", [{"State": "DISABLED"}, {"EndDate": "2026-03-28T01:00:00Z"}, {"StartDate": "2026-03-28T03:00:00Z"}]
)
def test_a_schedule_outside_its_life_is_not_due(schedules: Schedules, more: dict[str, str]) -> None:
    create("one", "cron(0 2 * * ? *)", **more)
    schedules.due(MIDNIGHT)
    assert schedules.due(MIDNIGHT.replace(hour=2)) == []


@pytest.mark.parametrize(
    ("expression", "zone"), [("cron(61 2 * * ? *)", "UTC"), ("cron(0 2 * * ? *)", "Nowhere/Land"), ("cron()", "UTC")]
)
def test_a_broken_schedule_is_named_in_the_log_and_does_not_stop_the_others(
    schedules: Schedules, caplog: pytest.LogCaptureFixture, expression: str, zone: str
) -> None:
    create("broken", expression, zone)
    create("sound", "cron(0 2 * * ? *)")
    schedules.due(MIDNIGHT)
    assert "schedule/default/broken never fires" in caplog.text
    assert [record["Name"] for record, _ in schedules.due(MIDNIGHT.replace(hour=2))] == ["sound"]


def create(name: str, expression: str, zone: str = "UTC", **more: str) -> None:
    status, _, answer = scheduler._create_schedule(name, body(expression, zone, **more))
    assert status == 200, answer


def body(expression: str, zone: str, **more: str) -> dict[str, object]:
    return {
        "ScheduleExpression": expression,
        "ScheduleExpressionTimezone": zone,
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": "arn:aws:lambda:us-east-1:000000000000:function:any", "RoleArn": "arn:aws:iam::0:role/any"},
        **more,
    }
