"""Ticks in zones: local wall times across clock changes, by known nights."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from handlers.declaration.cron import cron, skipped_by_dst
from handlers.declaration.cron_calendar import Calendar
from tests.declaration.instants import utc


def local_day(zone: str, day: str) -> tuple[datetime, datetime]:
    """The instants at which a local day begins and ends."""
    begin = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
    return begin.astimezone(UTC), (begin + timedelta(days=1)).astimezone(UTC)


def test_a_tick_in_the_repeated_hour_fires_once() -> None:
    schedule = cron("0 2 * * ? *", zone="Europe/Berlin")
    assert list(schedule.between(utc("2023-10-28T12:00"), utc("2023-10-30T12:00"))) == [
        utc("2023-10-29T00:00"),
        utc("2023-10-30T01:00"),
    ]
    assert schedule.next(utc("2023-10-29T00:00")) == utc("2023-10-30T01:00")
    assert schedule.next(utc("2023-10-29T00:59:59")) == utc("2023-10-30T01:00")
    assert schedule.previous(utc("2023-10-29T01:30")) == utc("2023-10-29T00:00")


def test_a_tick_in_the_missing_hour_is_skipped() -> None:
    schedule = cron("30 2 * * ? *", zone="Europe/Berlin")
    assert schedule.next(utc("2025-03-29T01:30")) == utc("2025-03-31T00:30")
    assert schedule.previous(utc("2025-03-30T23:00")) == utc("2025-03-29T01:30")


@pytest.mark.parametrize(
    ("day", "ticks"), [("2025-03-09", 23), ("2025-03-10", 24), ("2025-11-01", 24), ("2025-11-02", 25)]
)
def test_an_hourly_job_fires_in_each_hour_that_passes_on_a_local_day(day: str, ticks: int) -> None:
    begin, end = local_day("America/New_York", day)
    found = list(cron("0 * * * ? *", zone="America/New_York").between(begin, end))
    assert found == [begin + timedelta(hours=hour) for hour in range(ticks)]


def test_a_job_with_chosen_hours_fires_once_for_each_minute_of_a_repeated_hour() -> None:
    schedule = cron("0/15 0-3 * * ? *", zone="America/New_York")
    found = schedule.between(*local_day("America/New_York", "2025-11-02"))
    assert [f"{tick:%H:%M}" for tick in found] == [
        *("04:00", "04:15", "04:30", "04:45", "05:00", "05:15", "05:30", "05:45"),
        *("07:00", "07:15", "07:30", "07:45", "08:00", "08:15", "08:30", "08:45"),
    ]


@pytest.mark.parametrize("hours", ["*", "0-23", "*/1", "12-11"])
def test_all_24_hours_count_as_every_hour_however_they_are_written(hours: str) -> None:
    schedule = cron(f"30 {hours} * * ? *", zone="Europe/Berlin")
    assert len(list(schedule.between(*local_day("Europe/Berlin", "2023-10-29")))) == 25


def test_the_second_showing_stays_the_last_tick_until_the_next_however_long_that_is() -> None:
    schedule = cron("0/10 * 29 10 ? 2023", zone="Atlantic/Azores")  # clock back at 01:00 to 00:00 on the 29th
    assert schedule.previous(utc("2024-06-01T00:00")) == utc("2023-10-30T00:50")
    midnight = cron("30 * 4 11 ? 2012", zone="America/Havana")  # back at 01:00 to 00:00 on the 4th
    assert midnight.previous(utc("2012-11-04T05:45")) == utc("2012-11-04T05:30")
    evening = cron("30 * 9 11 ? 2013", zone="America/Rio_Branco")  # back at 00:00 on the 10th to 23:00 on the 9th
    assert evening.previous(utc("2013-12-24T00:00")) == utc("2013-11-10T04:30")


@pytest.mark.parametrize("day", [date(2025, 3, 29), date(2025, 3, 31), date(2025, 10, 25), date(2025, 10, 27)])
def test_a_daily_job_keeps_its_local_time_on_both_sides_of_a_change(day: date) -> None:
    schedule = cron("0 20 * * ? *", zone="Europe/Paris")
    begin, end = local_day("Europe/Paris", day.isoformat())
    (tick,) = schedule.between(begin, end)
    assert tick.astimezone(ZoneInfo("Europe/Paris")).replace(tzinfo=None) == datetime(day.year, day.month, day.day, 20)


@pytest.mark.parametrize(
    ("zone", "expression", "day", "ticks"),
    [
        ("Australia/Lord_Howe", "15 2 * * ? *", "2025-10-05", ["10-05T15:15", "10-06T15:15"]),  # skips 02:00-02:29
        ("Australia/Lord_Howe", "45 1 * * ? *", "2025-04-06", ["04-05T14:45", "04-06T15:15"]),  # repeats 01:30-01:59
        ("America/Havana", "30 0 * * ? *", "2025-03-09", ["03-10T04:30", "03-11T04:30"]),  # skips 00:00-00:59
        ("America/Havana", "30 0 * * ? *", "2025-11-02", ["11-02T04:30", "11-03T05:30"]),  # repeats 00:00-00:59
        ("Africa/Cairo", "0 0 * * ? *", "2025-04-25", ["04-25T21:00", "04-26T21:00"]),  # skips 00:00-00:59
        ("Africa/Cairo", "30 23 * * ? *", "2025-10-30", ["10-30T20:30", "10-31T21:30"]),  # repeats 23:00-23:59
        ("Asia/Tehran", "30 0 * * ? *", "2022-03-22", ["03-22T20:00", "03-23T20:00"]),  # its last year of summer time
        ("Asia/Tehran", "30 0 * * ? *", "2023-03-22", ["03-21T21:00", "03-22T21:00"]),
        ("Pacific/Apia", "0 12 * * ? *", "2011-12-30", ["12-30T22:00", "12-31T22:00"]),  # had no 30 December
    ],
)
def test_half_hour_midnight_and_whole_day_changes(zone: str, expression: str, day: str, ticks: list[str]) -> None:
    begin, _ = local_day(zone, day)
    found = cron(expression, zone=zone).between(begin, begin + timedelta(days=3))
    assert [f"{tick:%m-%dT%H:%M}" for tick in islice(found, 2)] == ticks


def test_local_times_that_do_not_exist_are_reported_as_skipped() -> None:
    schedule = cron("0,30 2,3 * * ? *", zone="Europe/Berlin")
    year = (utc("2025-01-01T00:00"), utc("2026-01-01T00:00"))
    assert list(skipped_by_dst(schedule, *year)) == [datetime(2025, 3, 30, 2, 0), datetime(2025, 3, 30, 2, 30)]
    # They would have been due at 01:00Z and 01:30Z.
    assert list(skipped_by_dst(schedule, utc("2025-03-30T01:00"), utc("2025-03-30T01:30"))) == [
        datetime(2025, 3, 30, 2, 0)
    ]
    assert list(skipped_by_dst(schedule, utc("2025-03-30T01:30"), year[1])) == [datetime(2025, 3, 30, 2, 30)]


@pytest.mark.parametrize(
    "fraction", [timedelta(), timedelta(microseconds=1), timedelta(seconds=59, microseconds=999999)]
)
def test_times_are_skipped_whatever_second_the_search_begins_and_ends_at(fraction: timedelta) -> None:
    schedule = cron("0 2,3 * * ? *", zone="Europe/Berlin")
    day = (utc("2025-03-29T12:00") + fraction, utc("2025-03-30T12:00") + fraction)
    assert list(skipped_by_dst(schedule, *day)) == [datetime(2025, 3, 30, 2)]
    assert list(skipped_by_dst(schedule, utc("2025-03-30T01:00") + fraction, day[1])) == (
        [] if fraction else [datetime(2025, 3, 30, 2)]
    )
    assert list(skipped_by_dst(schedule, day[0], utc("2025-03-30T01:00") + fraction)) == (
        [datetime(2025, 3, 30, 2)] if fraction else []
    )


@pytest.fixture
def calendar_look_ups(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The local times that searches ask the calendar for: their work, counted the same on every machine."""
    asked: list[datetime] = []
    at_or_after = Calendar.at_or_after

    def recorded(calendar: Calendar, wall: datetime) -> datetime | None:
        asked.append(wall)
        return at_or_after(calendar, wall)

    monkeypatch.setattr(Calendar, "at_or_after", recorded)
    return asked


def test_skipped_times_of_a_year_are_looked_for_at_its_changes_alone(calendar_look_ups: list[datetime]) -> None:
    schedule = cron("* 0-22 * * ? *", zone="Europe/Berlin")
    assert len(list(skipped_by_dst(schedule, utc("2025-01-01T00:00"), utc("2026-01-01T00:00")))) == 60
    assert len(calendar_look_ups) <= 62


def test_a_local_time_that_never_exists_is_looked_for_once_a_year(calendar_look_ups: list[datetime]) -> None:
    schedule = cron("30 2 ? 3 SUNL *", zone="Europe/Berlin")
    assert schedule.next(utc("2024-01-01T00:00")) is None  # skipped every year since 1981
    assert len(calendar_look_ups) <= 2199 - 2024 + 2
    assert schedule.previous(utc("2199-12-31T00:00")) == utc("1980-03-30T01:30")


@pytest.mark.parametrize(("expression", "zone"), [("0 * * * ? *", "Europe/Berlin"), ("30 2 * * ? *", None)])
def test_nothing_is_skipped_where_every_hour_counts_nor_in_utc(expression: str, zone: str | None) -> None:
    assert list(skipped_by_dst(cron(expression, zone=zone), utc("2025-01-01T00:00"), utc("2026-01-01T00:00"))) == []


def test_a_schedule_whose_every_local_time_is_skipped_never_fires() -> None:
    schedule = cron("30 2 ? 3 SUNL 2026-2199", zone="Europe/Berlin")
    assert schedule.complaints() == (
        "'30 2 ? 3 SUNL 2026-2199': never fires, since it has no time that exists in Europe/Berlin",
    )
