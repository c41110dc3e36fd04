"""What clock changes do to a schedule."""

from datetime import UTC, datetime, timedelta

import pytest

from handlers.declaration.cron import Cron, cron
from handlers.declaration.nights import Night, nights

YEAR = datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)


def found(schedule: Cron) -> list[Night]:
    return list(nights(schedule, *YEAR))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_time_in_the_missing_hour_is_skipped_and_in_the_repeated_hour_runs_once() -> None:
    spring, autumn = found(cron("30 2 * * ? *", zone="Europe/Berlin"))
    assert (spring.effect, spring.walls, spring.instants) == (
        "skipped",
        (datetime(2027, 3, 28, 2, 30),),
        (utc("2027-03-28T01:30"),),
    )
    assert (autumn.effect, autumn.walls, autumn.instants) == (
        "once",
        (datetime(2027, 10, 31, 2, 30),),
        (utc("2027-10-31T00:30"),),
    )
    assert autumn.change.instant == utc("2027-10-31T01:00")


def test_all_times_of_a_night_are_told_together() -> None:
    spring, autumn = found(cron("0/20 1-3 * * ? *", zone="America/New_York"))
    assert [wall.strftime("%H:%M") for wall in spring.walls] == ["02:00", "02:20", "02:40"]
    assert [wall.strftime("%H:%M") for wall in autumn.walls] == ["01:00", "01:20", "01:40"]


def test_a_job_of_every_hour_has_23_and_25_of_them() -> None:
    spring, autumn = found(cron("0 * * * ? *", zone="America/New_York"))
    assert (spring.effect, spring.walls, spring.ticks, spring.usual) == ("fewer", (datetime(2027, 3, 14),), 23, 24)
    assert (autumn.effect, autumn.instants, autumn.ticks) == ("more", (utc("2027-11-07T04:00"),), 25)


@pytest.mark.parametrize(
    ("zone", "expression", "counts"),
    [
        ("Africa/Cairo", "0 * * * ? *", [("2027-04-30", 23), ("2027-10-28", 25)]),  # at midnight, forward and back
        ("Australia/Lord_Howe", "0 * * * ? *", [("2027-10-03", 23)]),  # by half an hour: 02:00 is left out
        ("Australia/Lord_Howe", "45 * * * ? *", [("2027-04-04", 25)]),
        ("Europe/Berlin", "0 * ? * MON *", []),  # changes come on Sundays
        ("Asia/Riyadh", "0 * * * ? *", []),
    ],
)
def test_a_day_counts_only_where_its_ticks_are_others(
    zone: str, expression: str, counts: list[tuple[str, int]]
) -> None:
    days = [(f"{night.walls[0]:%Y-%m-%d}", night.ticks) for night in found(cron(expression, zone=zone))]
    assert days == counts


@pytest.mark.parametrize(
    "schedule",
    [
        cron("30 2 * * ? *"),
        cron("30 2 * * ? *", zone="Asia/Riyadh"),
        cron("30 4 * * ? *", zone="Europe/Berlin"),
        cron("30 2 ? * MON *", zone="Europe/Berlin"),
    ],
)
def test_a_schedule_that_no_change_touches_has_no_nights(schedule: Cron) -> None:
    assert found(schedule) == []


def test_a_night_belongs_to_the_span_in_which_the_clock_changes() -> None:
    schedule, change = cron("30 2 * * ? *", zone="Europe/Berlin"), utc("2027-03-28T01:00")
    assert len(list(nights(schedule, change - timedelta(minutes=1), change))) == 1
    assert list(nights(schedule, change, change + timedelta(hours=2))) == []


def test_a_schedule_with_mistakes_has_no_nights_but_an_error() -> None:
    with pytest.raises(ValueError, match="minute '60'"):
        found(cron("60 2 * * ? *", zone="Europe/Berlin"))
