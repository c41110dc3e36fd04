"""Which days, times and years an expression names, and how it may be written."""

from datetime import UTC, datetime

import pytest

from handlers.declaration.cron import Cron, cron, every

DAYS_OF_2027 = [
    (
        "* 5 ?",
        "05-01 05-02 05-03 05-04 05-05 05-06 05-07 05-08 05-09 05-10 05-11 05-12 05-13 05-14 05-15 05-16 "
        "05-17 05-18 05-19 05-20 05-21 05-22 05-23 05-24 05-25 05-26 05-27 05-28 05-29 05-30 05-31",
    ),
    ("1,15 2-3 ?", "02-01 02-15 03-01 03-15"),
    ("*/10 2 ?", "02-01 02-11 02-21"),
    ("28-2 2,3 ?", "02-01 02-02 02-28 03-01 03-02 03-28 03-29 03-30 03-31"),
    ("1 */4 ?", "01-01 05-01 09-01"),
    ("1 nov-Feb ?", "01-01 02-01 11-01 12-01"),
    ("31 * ?", "01-31 03-31 05-31 07-31 08-31 10-31 12-31"),
    ("L 1-4 ?", "01-31 02-28 03-31 04-30"),
    ("L-3 1-4 ?", "01-28 02-25 03-28 04-27"),
    ("L-30 1-4 ?", "01-01 03-01"),
    ("LW 1-5 ?", "01-29 02-26 03-31 04-30 05-31"),
    ("15W 1-5 ?", "01-15 02-15 03-15 04-15 05-14"),
    ("1W 5 ?", "05-03"),  # 1 May is a Saturday, and Friday is in April
    ("31W 1,4,10 ?", "01-29 10-29"),  # 31 October is a Sunday, and Monday is in November; April has no 31st
    ("20W 6 ?", "06-21"),
    ("? 2 SUN", "02-07 02-14 02-21 02-28"),
    ("? 2 1", "02-07 02-14 02-21 02-28"),
    ("? 2 7", "02-06 02-13 02-20 02-27"),
    ("? 2 L", "02-06 02-13 02-20 02-27"),
    ("? 2 FRI-MON", "02-01 02-05 02-06 02-07 02-08 02-12 02-13 02-14 02-15 02-19 02-20 02-21 02-22 02-26 02-27 02-28"),
    ("? 2 tue,THU", "02-02 02-04 02-09 02-11 02-16 02-18 02-23 02-25"),
    ("? 1-3 6L", "01-29 02-26 03-26"),
    ("? 1-3 FriL", "01-29 02-26 03-26"),
    ("? 1-3 3#2", "01-12 02-09 03-09"),
    ("? 1-3 TUE#2", "01-12 02-09 03-09"),
    ("? 1-4 6#5", "01-29 04-30"),
]


@pytest.mark.parametrize(("days", "dates"), DAYS_OF_2027, ids=[days for days, _ in DAYS_OF_2027])
def test_the_day_fields_name_these_dates_of_2027(days: str, dates: str) -> None:
    schedule = cron(f"0 0 {days} 2027")
    assert schedule.complaints() == ()
    found = schedule.between(datetime(1970, 1, 1, tzinfo=UTC), datetime(2199, 12, 31, tzinfo=UTC))
    assert [f"{tick:%m-%d}" for tick in found] == dates.split()


@pytest.mark.parametrize(
    ("fields", "times"),
    [
        ("5/15 0", "00:05 00:20 00:35 00:50"),
        ("*/20 3", "03:00 03:20 03:40"),
        ("10-40/10 3", "03:10 03:20 03:30 03:40"),
        ("50-10/10 3", "03:00 03:10 03:50"),
        ("0 22-2", "00:00 01:00 02:00 22:00 23:00"),
        ("0 20/2", "20:00 22:00"),
        ("07,7 03", "03:07"),
        ("0,59 0,23", "00:00 00:59 23:00 23:59"),
    ],
)
def test_the_time_fields_name_these_times_of_a_day(fields: str, times: str) -> None:
    found = cron(f"{fields} 5 5 ? 2027").between(datetime(2027, 5, 5, tzinfo=UTC), datetime(2027, 5, 6, tzinfo=UTC))
    assert [f"{tick:%H:%M}" for tick in found] == times.split()


def test_years_are_those_from_1970_to_2199() -> None:
    schedule = cron("0 0 1 1 ? */100")
    assert [
        tick.year for tick in schedule.between(datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
    ] == [
        1970,
        2070,
        2170,
    ]


@pytest.mark.parametrize("written", ["0 2 ? * MON *", "cron(0 2 ? * MON *)", " cron( 0  2 ?\t* mon * ) "])
def test_an_expression_may_stand_in_its_wrapper_and_any_spacing_and_case(written: str) -> None:
    schedule = cron(written)
    assert schedule.complaints() == ()
    assert schedule.aws == "cron(0 2 ? * MON *)"


@pytest.mark.parametrize(
    ("schedule", "expression"),
    [
        (every(minutes=1), "* * * * ? *"),
        (every(minutes=5), "0/5 * * * ? *"),
        (every(minutes=30), "0/30 * * * ? *"),
        (every(minutes=60), "0 * * * ? *"),
        (every(hours=1), "0 * * * ? *"),
        (every(hours=2), "0 0/2 * * ? *"),
        (every(minutes=180), "0 0/3 * * ? *"),
        (every(hours=24), "0 0 * * ? *"),
    ],
)
def test_every_compiles_to_cron(schedule: Cron, expression: str) -> None:
    assert schedule == cron(expression)
    assert schedule.complaints() == ()
