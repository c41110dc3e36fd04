"""A job with a spread starts a little after its ticks, wherever one expression of EventBridge can say so."""

from datetime import UTC, datetime, timedelta

import pytest

from handlers.declaration.cron import Cron, cron, every
from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.gaps import shortest_gap
from handlers.declaration.job import Job
from handlers.declaration.shift import shifted
from handlers.declaration.spread import offset, rung, spread_complaints

# The first 8 bytes of sha256, modulo 11.
KNOWN = {"billing-run": 3, "report-aggregation": 6, "session-cleanup": 0}
BEGIN, END = datetime(2027, 12, 26, tzinfo=UTC), datetime(2028, 2, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "gap"),
    [
        (every(minutes=1), minutes(1)),
        (every(minutes=15), minutes(15)),
        (every(hours=24), hours(24)),
        (cron("0,50 1,2 * * ? *"), minutes(10)),
        (cron("0,50 0,23 * * ? *"), minutes(10)),  # over midnight
        (cron("0,50 0,23 1 * ? *"), minutes(50)),  # no day follows another
        (cron("0,50 0,23 1,31 * ? *"), minutes(10)),  # the 31st and the 1st
        (cron("0 2 ? * MON *"), timedelta.max),
        (cron("5,55 1,3 * * ? *"), minutes(50)),
        (cron("5,55 1,3 * * ? *", zone="Europe/Berlin"), minutes(10)),  # 01:55, then 03:05 when clocks go forward
        (cron("32,55 * * * ? *", zone="Australia/Lord_Howe"), minutes(7)),  # 01:55, then 01:32 again
    ],
)
def test_the_shortest_gap_is_that_of_all_days_midnights_and_clock_changes(schedule: Cron, gap: timedelta) -> None:
    assert shortest_gap(schedule) == gap


@pytest.mark.parametrize(
    ("expression", "by", "moved"),
    [
        ("0 2 * * ? *", 7, "7 2 * * ? *"),
        ("0 2 * * ? *", 0, "0 2 * * ? *"),
        ("0/15 * * * ? *", 4, "4,19,34,49 * * * ? *"),
        ("50-59 * * * ? *", 12, "2-11 * * * ? *"),
        ("50 * ? * mon *", 15, None),  # Sunday's last tick would come on Monday
        ("50 * ? * * *", 15, "5 * ? * * *"),
        ("50 1-3 * * ? *", 15, "5 2-4 * * ? *"),
        ("50 1-3 1 * ? *", 15, "5 2-4 1 * ? *"),
        ("50 22,23 * * ? *", 15, "5 0,23 * * ? *"),
        ("50 22,23 1 * ? *", 15, None),
        ("50 23 ? * FRI-SUN *", 15, "5 0 ? * 1-2,7 *"),
        ("50 23 ? JAN FRI-SUN *", 15, None),
        ("50 23 ? * 6#2 *", 15, None),
        ("50 23 * * ? 2027", 15, None),
        ("0,50 1 * * ? *", 15, None),  # one passes the hour, one does not
        ("0,50 * * * ? *", 15, "5,15 * * * ? *"),
        ("50 23 L * ? *", 9, "59 23 L * ? *"),
    ],
)
def test_an_expression_is_moved_only_where_another_fires_exactly_so_much_later(
    expression: str, by: int, moved: str | None
) -> None:
    assert shifted(expression, by) == moved
    if moved is not None:
        later = [tick + minutes(by) for tick in cron(expression).between(BEGIN - minutes(by), END - minutes(by))]
        assert list(cron(moved).between(BEGIN, END)) == later


@pytest.mark.parametrize(
    ("schedule", "spread", "complaint"),
    [
        (cron("0 2 * * ? *"), minutes(16), "spread 0:16:00: allowed is 0 to 15 whole minutes"),
        (cron("0 2 * * ? *"), minutes(-1), "spread -1 day, 23:59:00: allowed is 0 to 15 whole minutes"),
        (cron("0 2 * * ? *"), seconds(90), "spread 0:01:30: allowed is 0 to 15 whole minutes"),
        (
            every(minutes=5),
            minutes(4),
            "spread 0:04:00: allowed is at most 3 min where ticks are 5 min apart, "
            "so that no start counts for the tick after it",
        ),
        (
            every(minutes=1),
            minutes(1),
            "spread 0:01:00: allowed is at most 0 min where ticks are 1 min apart, "
            "so that no start counts for the tick after it",
        ),
        (
            cron("50 23 1 * ? *"),
            minutes(15),
            "spread 0:15:00: allowed is at most 9 min, since no single expression is '50 23 1 * ? *' 10 min later; "
            "give the schedule a zone such as Etc/UTC, and EventBridge Scheduler spreads it",
        ),
    ],
)
def test_a_spread_that_cannot_be_is_refused_with_what_can(schedule: Cron, spread: timedelta, complaint: str) -> None:
    job = Job(
        "nightly", target="handlers.jobs.billing_run:run", schedule=schedule, longest_run=minutes(1), spread=spread
    )
    assert list(job.complaints()) == [complaint]


@pytest.mark.parametrize(
    ("schedule", "spread"),
    [
        (cron("0 2 * * ? *"), minutes(15)),
        (every(minutes=5), minutes(3)),
        (every(minutes=1), minutes(0)),
        (cron("50 23 1 * ? *", zone="Etc/UTC"), minutes(15)),
        (cron("50 23 * * ? *"), minutes(15)),
    ],
)
def test_a_spread_that_leaves_ticks_apart_is_taken(schedule: Cron, spread: timedelta) -> None:
    assert list(spread_complaints(schedule, spread)) == []


def test_a_schedule_with_mistakes_is_told_those_and_not_how_far_it_spreads() -> None:
    job = Job(
        "nightly",
        target="handlers.jobs.billing_run:run",
        schedule=cron("60 2 * * ? *"),
        longest_run=minutes(1),
        spread=minutes(16),
    )
    assert list(job.complaints()) == ["schedule minute '60': allowed is 0-59, with , - * /"]


def test_the_offset_of_a_name_is_the_same_on_every_machine_and_in_every_deploy() -> None:
    assert {name: offset(name, minutes(10)) // minutes(1) for name in KNOWN} == KNOWN
    assert {offset(name, timedelta()) for name in KNOWN} == {timedelta()}


def test_a_hundred_midnight_jobs_use_every_minute_of_their_spread() -> None:
    offsets = [offset(f"job-{number}", minutes(10)) for number in range(100)]
    assert {each // minutes(1) for each in offsets} == set(range(11))
    assert max(offsets.count(each) for each in offsets) < 20


def test_a_rule_is_rung_later_by_the_offset_alone() -> None:
    assert rung(cron("0 2 * * ? *"), minutes(7)).aws == "cron(7 2 * * ? *)"
    with pytest.raises(ValueError, match="no single expression"):
        rung(cron("50 23 1 * ? *"), minutes(15))


def test_a_run_is_late_after_its_spread_and_its_time_to_start() -> None:
    job = Job("nightly", target="", schedule=cron("0 2 * * ? *"), longest_run=minutes(1), spread=minutes(10))
    assert job.late_after == minutes(20)
