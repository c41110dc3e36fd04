"""Which expressions and zones are refused, and in which words."""

from datetime import UTC, datetime

import pytest

from handlers.declaration.catalogue import InvalidSchedule, declare
from handlers.declaration.cron import Cron, cron, every
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job

REFUSED = [
    ("60 2 * * ? *", "minute '60': allowed is 0-59, with , - * /"),
    ("-1 2 * * ? *", "minute '-1': allowed is 0-59, with , - * /"),
    ("? 2 * * ? *", "minute '?': allowed is 0-59, with , - * /"),
    ("1,,2 2 * * ? *", "minute '': allowed is 0-59, with , - * /"),
    ("1.5 2 * * ? *", "minute '1.5': allowed is 0-59, with , - * /"),
    ("*-5 2 * * ? *", "minute '*-5': allowed is 0-59, with , - * /"),
    ("\u0663 2 * * ? *", "minute '\u0663': allowed is 0-59, with , - * /"),
    ("5/0 2 * * ? *", "minute '5/0': allowed is a step of 1-59"),
    ("0/60 2 * * ? *", "minute '0/60': allowed is a step of 1-59"),
    ("5/ 2 * * ? *", "minute '5/': allowed is 0-59, with , - * /"),
    ("0 24 * * ? *", "hour '24': allowed is 0-23, with , - * /"),
    ("0 2-24 * * ? *", "hour '24': allowed is 0-23, with , - * /"),
    ("0 2 0 * ? *", "day-of-month '0': allowed is 1-31, with , - * /, or alone ? L L-3 15W LW"),
    ("0 2 32 * ? *", "day-of-month '32': allowed is 1-31, with , - * /, or alone ? L L-3 15W LW"),
    ("0 2 1,L * ? *", "day-of-month 'L': allowed is 1-31, with , - * /, or alone ? L L-3 15W LW"),
    ("0 2 L-31 * ? *", "day-of-month 'L-31': allowed is L, or L-1 to L-30"),
    ("0 2 L-0 * ? *", "day-of-month 'L-0': allowed is L, or L-1 to L-30"),
    ("0 2 32W * ? *", "day-of-month '32W': allowed is 1W to 31W"),
    ("0 2 * 13 ? *", "month '13': allowed is 1-12 or JAN-DEC (1 is JAN), with , - * /"),
    ("0 2 * JANUARY ? *", "month 'JANUARY': allowed is 1-12 or JAN-DEC (1 is JAN), with , - * /"),
    ("0 2 ? * 0 *", "day-of-week '0': allowed is 1-7 or SUN-SAT (1 is SUN), with , - *, or alone ? L 6L 3#2"),
    ("0 2 ? * 8 *", "day-of-week '8': allowed is 1-7 or SUN-SAT (1 is SUN), with , - *, or alone ? L 6L 3#2"),
    ("0 2 ? * 2/2 *", "day-of-week '2/2': allowed is 1-7 or SUN-SAT (1 is SUN), with , - *, or alone ? L 6L 3#2"),
    ("0 2 ? * 8L *", "day-of-week '8': allowed is 1-7 or SUN-SAT (1 is SUN), with , - *, or alone ? L 6L 3#2"),
    ("0 2 ? * 3#6 *", "day-of-week '3#6': allowed after # is 1-5"),
    ("0 2 * * ? 1969", "year '1969': allowed is 1970-2199, with , - * /"),
    ("0 2 * * ? 2200", "year '2200': allowed is 1970-2199, with , - * /"),
    ("0 2 * * ? 2030-2027", "year '2030-2027': allowed is a range that does not run backwards"),
    (f"{'9' * 100_000} 2 * * ? *", f"minute '{'9' * 100_000}': allowed is 0-59, with , - * /"),
    (
        "0 2 1 * 2 *",
        "day-of-month '1' and day-of-week '2': exactly one of the two must be ?, and the other says the days",
    ),
    (
        "0 2 * * * *",
        "day-of-month '*' and day-of-week '*': exactly one of the two must be ?, and the other says the days",
    ),
    (
        "0 2 ? * ? *",
        "day-of-month '?' and day-of-week '?': exactly one of the two must be ?, and the other says the days",
    ),
    ("", "'': has no fields; allowed are six: minute hour day-of-month month day-of-week year"),
    (
        "0 2 * * ? * *",
        "'0 2 * * ? * *': has 7 fields; allowed are six: minute hour day-of-month month day-of-week year",
    ),
    (
        "rate(1 minutes)",
        "'rate(1 minutes)': allowed is cron; a rate counts from its deployment, "
        "so use every(minutes=...) or every(hours=...)",
    ),
    (
        "at(2027-01-01T00:00:00)",
        "'at(2027-01-01T00:00:00)': allowed is cron, which may name one year, such as 0 2 15 1 ? 2027",
    ),
    ("0 2 31 2 ? *", "'0 2 31 2 ? *': never fires, since it has no date that exists"),
    ("0 2 30 FEB ? *", "'0 2 30 FEB ? *': never fires, since it has no date that exists"),
    ("0 2 29 2 ? 2100", "'0 2 29 2 ? 2100': never fires, since it has no date that exists"),
    ("0 2 L-30 4,6 ? *", "'0 2 L-30 4,6 ? *': never fires, since it has no date that exists"),
    ("0 2 * * ? 1999-2020", "'0 2 * * ? 1999-2020': never fires, since its last tick was 2020-12-31T02:00Z"),
]


@pytest.mark.parametrize(("expression", "complaint"), REFUSED, ids=[expression[:24] for expression, _ in REFUSED])
def test_a_mistake_is_named_with_its_field_its_value_and_what_is_allowed(expression: str, complaint: str) -> None:
    assert cron(expression).complaints() == (complaint,)


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("0 2 * * *", "; if this is unix cron, write '0 2 * * ? *'"),
        ("15 12 * * 0", "; if this is unix cron, write '15 12 ? * 1 *'"),
        ("15 12 * * 7", "; if this is unix cron, write '15 12 ? * 1 *'"),
        ("0 0 * * 1-5", "; if this is unix cron, write '0 0 ? * 2-6 *'"),
        ("0 0 * * mon-fri", "; if this is unix cron, write '0 0 ? * 2-6 *'"),
        ("0 0 * * 5-7", "; if this is unix cron, write '0 0 ? * 1,6-7 *'"),
        ("0 0 * * */2", "; if this is unix cron, write '0 0 ? * 1,3,5,7 *'"),
        ("*/5 * 1 */3 *", "; if this is unix cron, write '*/5 * 1 */3 ? *'"),
        (
            "0 0 1 * 0",
            "; if this is unix cron, it fires on either day and takes two jobs: '0 0 1 * ? *' and '0 0 ? * 1 *'",
        ),
        ("0 0 */2 * 1", ""),  # on Mondays that are odd days: no expression of EventBridge says so
        ("0 0 * * 8", ""),
        ("60 0 * * *", ""),
    ],
)
def test_five_fields_are_refused_with_what_they_would_be_as_unix_cron(expression: str, hint: str) -> None:
    assert cron(expression).complaints() == (
        f"{expression!r}: has 5 fields; allowed are six: minute hour day-of-month month day-of-week year{hint}",
    )


@pytest.mark.parametrize("days", ["31 2 ? *", "30 FEB ? *", "* * ? 2025"])
def test_a_job_with_a_schedule_that_never_fires_is_refused_at_its_declaration(days: str) -> None:
    job = Job("nightly", target="handlers.jobs.billing_run:run", schedule=cron(f"0 2 {days}"), longest_run=minutes(5))
    with pytest.raises(InvalidSchedule, match=r"nightly: schedule '0 2 .*': never fires"):
        declare(job)


def test_all_mistakes_of_an_expression_are_named_at_once() -> None:
    complaints = cron("60,61 24 32 13 8 1969", zone="Mars/Olympus").complaints()
    assert [complaint.split(":")[0] for complaint in complaints] == [
        "minute '60'",
        "minute '61'",
        "hour '24'",
        "day-of-month '32'",
        "day-of-week '8'",
        "day-of-month '32' and day-of-week '8'",
        "month '13'",
        "year '1969'",
        "zone 'Mars/Olympus'",
    ]


@pytest.mark.parametrize(
    ("zone", "complaint"),
    [
        ("Europe/Berln", "zone 'Europe/Berln': allowed is an IANA zone; did you mean Europe/Berlin?"),
        ("asia/riyadh", "zone 'asia/riyadh': allowed is an IANA zone; did you mean Asia/Riyadh?"),
        ("Berlin", "zone 'Berlin': allowed is an IANA zone; did you mean Europe/Berlin?"),
        ("../../etc/passwd", "zone '../../etc/passwd': allowed is an IANA zone such as Europe/Berlin, or none for UTC"),
        ("", "zone '': allowed is an IANA zone such as Europe/Berlin, or none for UTC"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_that_exists(zone: str, complaint: str) -> None:
    assert cron("0 2 * * ? *", zone=zone).complaints() == (complaint,)


def test_a_folder_of_zones_is_no_zone() -> None:
    (complaint,) = cron("0 2 * * ? *", zone="America").complaints()
    assert complaint.startswith("zone 'America': allowed is an IANA zone")


def test_a_schedule_that_ended_while_this_product_was_in_use_stays_valid_so_that_other_jobs_go_on() -> None:
    assert cron("0 2 * * ? 2026").complaints() == ()


def test_searching_an_expression_with_mistakes_raises_them() -> None:
    with pytest.raises(ValueError, match="minute '60': allowed is 0-59"):
        cron("60 2 * * ? *").next(datetime(2027, 1, 1, tzinfo=UTC))
    with pytest.raises(ValueError, match="did you mean Europe/Berlin"):
        cron("0 2 * * ? *", zone="Europe/Berln").previous(datetime(2027, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("schedule", "written"),
    [
        (every(minutes=7), "every(minutes=7)"),
        (every(minutes=90), "every(minutes=90)"),
        (every(hours=5), "every(hours=5)"),
        (every(hours=48), "every(hours=48)"),
        (every(minutes=0), "every(minutes=0)"),
        (every(minutes=-5), "every(minutes=-5)"),
        (every(minutes=30, hours=1), "every(minutes=30, hours=1)"),
        (every(), "every()"),
    ],
)
def test_every_refuses_a_span_without_a_rhythm_through_the_day(schedule: Cron, written: str) -> None:
    assert schedule.complaints() == (
        f"{written!r}: allowed is minutes that divide an hour (1 2 3 4 5 6 10 12 15 20 30 60) "
        "or hours that divide a day (1 2 3 4 6 8 12 24)",
    )
