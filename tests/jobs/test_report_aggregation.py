"""The daily reports against the same figures found another way, and under repetition and failure."""

from collections.abc import Callable
from datetime import date

import psycopg
import pytest

from handlers.runtime.report import Result
from tests.jobs.fixture_types import FailOnce, RunJob

AT = "2026-11-29T03:30:00Z"

# Everything is dated by its local day first and then counted for all restaurants at once, with ranks for best and
# busiest.
EXPECTED = """
with placed as (
    select o.*, extract(hour from placed_at at time zone zone) as hour
    from platform.orders o join platform.restaurants r on r.id = restaurant_id
    where (placed_at at time zone zone)::date = %(day)s
), counted as (
    select restaurant_id, count(*) as orders, sum((status = 'cancelled')::int) as cancelled,
           sum((status <> 'cancelled')::int) as delivered,
           sum(case when status = 'cancelled' then 0 else subtotal_minor - discount_minor end) as revenue
    from placed group by restaurant_id
), items as (
    select restaurant_id, item_id,
           rank() over (partition by restaurant_id order by sum(quantity) desc, item_id) as place
    from placed join platform.order_items on order_id = placed.id
    where status <> 'cancelled' group by restaurant_id, item_id
), hours as (
    select restaurant_id, hour, rank() over (partition by restaurant_id order by count(*) desc, hour) as place
    from placed group by restaurant_id, hour
), refunds as (
    select restaurant_id, sum(refunded_minor) as minor
    from platform.orders o join platform.restaurants r on r.id = restaurant_id
    where (refunded_at at time zone zone)::date = %(day)s group by restaurant_id
), visits as (
    select restaurant_id, count(*) as number
    from platform.sessions s join platform.restaurants r on r.id = restaurant_id
    where (started_at at time zone zone)::date = %(day)s group by restaurant_id
)
select r.id, %(day)s::date, coalesce(orders, 0), coalesce(round(1.0 * cancelled / orders, 4), 0), coalesce(revenue, 0),
       coalesce(round(revenue / nullif(delivered, 0)), 0), coalesce(refunds.minor, 0), item_id, hours.hour,
       coalesce(visits.number, 0)
from platform.restaurants r
left join counted on counted.restaurant_id = r.id
left join items on items.restaurant_id = r.id and items.place = 1
left join hours on hours.restaurant_id = r.id and hours.place = 1
left join refunds on refunds.restaurant_id = r.id
left join visits on visits.restaurant_id = r.id
where daterange(opened_on, closed_on) @> %(day)s::date or counted.orders > 0 or refunds.minor > 0
order by r.id
"""
REPORTS = "select * from platform.daily_reports order by restaurant_id, day"
STEPS_PER_ATTEMPT = """
select attempt, count(*) from shiftlock.run_steps join shiftlock.job_attempts using (run_id, fence)
group by attempt order by attempt
"""
AT_BOTH_MIDNIGHTS = """
update platform.restaurants set zone = 'Asia/Riyadh' where id = 1;
insert into platform.orders (id, restaurant_id, status, placed_at, delivered_at, refunded_at,
                             subtotal_minor, discount_minor, vat_minor, tip_minor, refunded_minor)
values (1, 1, 'delivered', '2026-11-28 00:00+03', '2026-11-28 00:20+03', null, 1000, 0, 150, 0, 0),
       (2, 1, 'delivered', '2026-11-29 00:00+03', '2026-11-29 00:20+03', null, 2000, 0, 300, 0, 0),
       (3, 1, 'refunded', '2026-11-27 20:00+03', '2026-11-27 21:00+03', '2026-11-28 00:00+03', 4000, 0, 600, 0, 10),
       (4, 1, 'refunded', '2026-11-27 20:00+03', '2026-11-27 21:00+03', '2026-11-29 00:00+03', 8000, 0, 1200, 0, 20);
insert into platform.sessions (id, restaurant_id, device, started_at)
values (1, 1, 'guest', '2026-11-28 00:00+03'), (2, 1, 'guest', '2026-11-29 00:00+03')
"""


def expected(platform: psycopg.Connection, day: date = date(2026, 11, 28)) -> list[tuple[object, ...]]:
    return platform.execute(EXPECTED, {"day": day}).fetchall()


def test_every_restaurant_gets_the_report_of_its_own_last_day(platform: psycopg.Connection, run_job: RunJob) -> None:
    platform.execute(AT_BOTH_MIDNIGHTS)
    report = run_job("report-aggregation", AT)
    reports = platform.execute(REPORTS).fetchall()
    assert reports == expected(platform)
    assert len(reports) == 28
    assert report.value == {"days": ["2026-11-28"], "reports": 28, "orders": sum(row[2] for row in reports)}


@pytest.mark.parametrize(
    ("day", "at"),
    [
        pytest.param(date(2026, 10, 25), "2026-10-26T03:30:00Z", id="25 hours"),
        pytest.param(date(2026, 3, 29), "2026-03-30T03:30:00Z", id="23 hours"),
    ],
)
def test_a_day_is_as_long_as_the_clocks_of_its_zone_make_it(
    day: date, at: str, load_until: Callable[[date], None], database: psycopg.Connection, run_job: RunJob
) -> None:
    load_until(day)
    database.execute("update platform.restaurants set zone = 'Europe/London'")
    run_job("report-aggregation", at)
    assert database.execute(REPORTS).fetchall() == expected(database, day)


def test_a_failure_in_the_middle_leaves_the_rows_of_an_undisturbed_run(
    platform: psycopg.Connection, run_job: RunJob, fail_once: FailOnce
) -> None:
    fail_once("daily_reports", "insert", "new.restaurant_id = 27")
    report = run_job("report-aggregation", AT)
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 2)
    assert platform.execute(REPORTS).fetchall() == expected(platform)
    assert platform.execute(STEPS_PER_ATTEMPT).fetchall() == [(1, 20), (2, 10)]


def test_a_run_after_the_ledger_was_lost_brings_the_reports_up_to_date(
    platform: psycopg.Connection, run_job: RunJob
) -> None:
    platform.execute(
        "update platform.orders set status = 'placed', delivered_at = null where status = 'delivered' and id % 7 = 0"
    )
    run_job("report-aggregation", AT)
    platform.execute(
        "update platform.orders set status = 'delivered', delivered_at = placed_at + interval '1 hour' "
        "where status = 'placed'"
    )
    assert platform.execute(REPORTS).fetchall() != expected(platform)
    platform.execute("truncate shiftlock.job_runs cascade")
    run_job("report-aggregation", AT)
    assert platform.execute(REPORTS).fetchall() == expected(platform)


def test_a_report_keeps_its_sessions_when_they_have_been_cleaned_up_since(
    platform: psycopg.Connection, run_job: RunJob
) -> None:
    run_job("report-aggregation", AT)
    reports = platform.execute(REPORTS).fetchall()
    run_job("session-cleanup", "2026-12-20T00:00:00Z")
    platform.execute("truncate shiftlock.job_runs cascade")
    run_job("report-aggregation", AT)
    assert platform.execute(REPORTS).fetchall() == reports
