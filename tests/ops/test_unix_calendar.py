"""cron(8) as the product knows it: days by crontab(5), clock changes as cron makes up for them."""

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from ops.unix_calendar import read_crontab


def runs(line: str, start: str, count: int, zone: str = "UTC") -> list[str]:
    begin = datetime.fromisoformat(start).replace(tzinfo=UTC)
    return [f"{run:%m-%dT%H:%M}" for run in islice(read_crontab(line).runs(begin, ZoneInfo(zone)), count)]


@pytest.mark.parametrize(
    ("line", "days"),
    [
        ("0 0 13 * 5", "08-06 08-13 08-20 08-27 09-03 09-10 09-13"),  # either
        ("0 0 */2 * 5", "08-13 08-27 09-03 09-17"),  # both: Fridays that are odd days
        ("0 0 1-7 * */7", "08-01 09-05 10-03"),  # both: the first Sunday
        ("0 0 * * 5-0/2", "08-01 08-06 08-08"),
        ("0 0 28-2 * *", "08-01 08-02 08-28 08-29 08-30 08-31 09-01"),
        ("@weekly", "08-01 08-08"),
        ("0 0 29 feb *", "02-29"),
    ],
)
def test_days_are_those_of_crontab_5(line: str, days: str) -> None:
    expected = [f"{day}T00:00" for day in days.split()]
    assert runs(line, "2027-08-01", len(expected)) == expected


def test_a_run_begins_with_the_minute_that_is_asked_for() -> None:
    assert runs("*/30 * * * *", "2027-08-01T00:00", 2) == ["08-01T00:00", "08-01T00:30"]
    assert runs("*/30 * * * *", "2027-08-01T00:00:01", 1) == ["08-01T00:30"]


def test_a_fixed_time_that_the_clock_skips_is_made_up_for_at_once_and_one_that_repeats_runs_once() -> None:
    assert runs("30 2 * * *", "2027-03-27T12:00", 2, "Europe/Berlin") == ["03-28T01:00", "03-29T00:30"]
    assert runs("0,30 2,3 * * *", "2027-03-28T00:00", 2, "Europe/Berlin") == ["03-28T01:00", "03-28T01:30"]
    assert runs("30 2 * * *", "2027-10-31T00:00", 2, "Europe/Berlin") == ["10-31T00:30", "11-01T01:30"]


def test_a_line_that_begins_with_a_star_goes_by_the_clock_as_it_is() -> None:
    assert runs("*/30 2 * * *", "2027-03-27T12:00", 1, "Europe/Berlin") == ["03-29T00:00"]
    assert runs("*/30 2 * * *", "2027-10-31T00:00", 4, "Europe/Berlin") == [
        *("10-31T00:00", "10-31T00:30", "10-31T01:00", "10-31T01:30"),
    ]
    assert len(runs("0 * * * *", "2027-10-30T22:00", 25, "Europe/Berlin")) == 25


def test_a_change_of_more_than_three_hours_is_made_up_for_by_nobody() -> None:
    assert runs("0 12 30 * *", "2011-12-01T00:00", 1, "Pacific/Apia") == ["01-29T22:00"]


def test_the_years_end() -> None:
    assert runs("0 0 1 1 *", "2199-06-01", 1) == []


def test_what_is_no_line_is_no_calendar() -> None:
    with pytest.raises(ValueError, match="is no part of a crontab line"):
        read_crontab("0 0 L# * *")
