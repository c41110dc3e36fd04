"""The invoices against the same sums found another way, and under repetition and failure."""

import psycopg

from handlers.runtime.report import Result
from tests.jobs.fixture_types import FailOnce, RunJob

AT = "2026-11-28T23:00:00Z"  # 02:00 on the 29th in Riyadh

# One pass over all orders, dated by the day's name in Riyadh instead of by two instants.
EXPECTED = """
with dated as (
    select restaurant_id, net_minor, refunded_minor,
           to_char(delivered_at at time zone 'Asia/Riyadh', 'YYYY-MM-DD') as delivered_on,
           to_char(refunded_at at time zone 'Asia/Riyadh', 'YYYY-MM-DD') as refunded_on
    from platform.orders
), moved as (
    select restaurant_id,
           sum(case delivered_on when '2026-11-28' then 1 else 0 end) as delivered_orders,
           sum(case delivered_on when '2026-11-28' then net_minor else 0 end) as sales,
           sum(case refunded_on when '2026-11-28' then refunded_minor else 0 end) as refunds
    from dated group by restaurant_id
), charged as (
    select r.*, coalesce(delivered_orders, 0) as delivered_orders, coalesce(sales, 0) as sales,
           coalesce(refunds, 0) as refunds,
           round(commission_rate * coalesce(sales, 0) - commission_rate * coalesce(refunds, 0)) as commission
    from platform.restaurants r left join moved on moved.restaurant_id = r.id
    where daterange(opened_on, closed_on) @> date '2026-11-28'
)
select id, date '2026-11-28', currency, delivered_orders, sales, refunds, plan_fee_minor, commission,
       round(vat_rate * (plan_fee_minor + commission)),
       plan_fee_minor + commission + round(vat_rate * (plan_fee_minor + commission))
from charged order by id
"""
INVOICES = "select * from platform.invoices order by restaurant_id, day"
TOTAL_PER_CURRENCY = "select currency, sum(total_minor)::bigint from platform.invoices group by currency"
STEPS_PER_ATTEMPT = """
select attempt, count(*) from shiftlock.run_steps join shiftlock.job_attempts using (run_id, fence)
group by attempt order by attempt
"""
REFUNDED_A_DAY_LATER = """
insert into platform.orders (id, restaurant_id, status, placed_at, delivered_at, refunded_at,
                             subtotal_minor, discount_minor, vat_minor, tip_minor, refunded_minor)
values (1, 1, 'refunded', '2026-11-27 12:00+03', '2026-11-27 12:30+03', '2026-11-28 09:00+03', 5000, 0, 750, 0, 4000)
"""
AT_BOTH_MIDNIGHTS = """
insert into platform.orders (id, restaurant_id, status, placed_at, delivered_at, refunded_at,
                             subtotal_minor, discount_minor, vat_minor, tip_minor, refunded_minor)
values (1, 1, 'delivered', '2026-11-27 23:00+03', '2026-11-28 00:00+03', null, 1000, 0, 150, 0, 0),
       (2, 1, 'delivered', '2026-11-28 23:00+03', '2026-11-29 00:00+03', null, 2000, 0, 300, 0, 0),
       (3, 1, 'refunded', '2026-11-27 20:00+03', '2026-11-27 21:00+03', '2026-11-28 00:00+03', 4000, 0, 600, 0, 10),
       (4, 1, 'refunded', '2026-11-27 20:00+03', '2026-11-27 21:00+03', '2026-11-29 00:00+03', 8000, 0, 1200, 0, 20)
"""


def test_every_restaurant_is_invoiced_for_the_day_before_the_tick_in_riyadh(
    platform: psycopg.Connection, run_job: RunJob
) -> None:
    report = run_job("billing-run", AT)
    invoices = platform.execute(INVOICES).fetchall()
    assert invoices == platform.execute(EXPECTED).fetchall()
    assert len(invoices) == 28
    assert report.value == {
        "day": "2026-11-28",
        "invoices": 28,
        "total_minor": dict(platform.execute(TOTAL_PER_CURRENCY).fetchall()),
    }


def test_a_failure_in_the_middle_keeps_what_was_committed_and_invoices_nobody_twice(
    platform: psycopg.Connection, run_job: RunJob, fail_once: FailOnce
) -> None:
    fail_once("invoices", "insert", "new.restaurant_id = 27")
    report = run_job("billing-run", AT)
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 2)
    assert platform.execute(INVOICES).fetchall() == platform.execute(EXPECTED).fetchall()
    assert platform.execute(STEPS_PER_ATTEMPT).fetchall() == [(1, 20), (2, 10)]


def test_a_second_event_of_the_same_tick_changes_nothing_and_gives_the_same_answer(
    platform: psycopg.Connection, run_job: RunJob
) -> None:
    first = run_job("billing-run", AT)
    invoices = platform.execute(INVOICES).fetchall()
    second = run_job("billing-run", AT)
    assert (second.result, second.value) == (Result.ALREADY_DONE, first.value)
    assert platform.execute(INVOICES).fetchall() == invoices


def test_an_issued_invoice_outlives_a_change_of_plan_and_the_loss_of_the_ledger(
    platform: psycopg.Connection, run_job: RunJob
) -> None:
    first = run_job("billing-run", AT)
    invoices = platform.execute(INVOICES).fetchall()
    platform.execute("truncate shiftlock.job_runs cascade")
    platform.execute("update platform.restaurants set plan_fee_minor = plan_fee_minor + 100")
    second = run_job("billing-run", AT)
    assert (second.result, second.value) == (Result.SUCCEEDED, first.value)
    assert platform.execute(INVOICES).fetchall() == invoices


def test_a_restaurant_that_left_pays_commission_on_its_last_orders_and_no_fee(
    platform: psycopg.Connection, run_job: RunJob
) -> None:
    platform.execute("update platform.restaurants set closed_on = '2026-11-28' where id in (1, 2)")
    platform.execute("update platform.orders set restaurant_id = 1 where restaurant_id = 2")
    run_job("billing-run", AT)
    invoices = platform.execute(
        "select restaurant_id, plan_fee_minor, commission_minor > 0 from platform.invoices where restaurant_id <= 2"
    )
    assert invoices.fetchall() == [(1, 0, True)]


def test_midnight_belongs_to_the_day_that_begins(platform: psycopg.Connection, run_job: RunJob) -> None:
    platform.execute("delete from platform.order_items")
    platform.execute("delete from platform.orders")
    platform.execute(AT_BOTH_MIDNIGHTS)
    run_job("billing-run", AT)
    [(orders, sales, refunds)] = platform.execute(
        "select delivered_orders, sales_minor, refunds_minor from platform.invoices where restaurant_id = 1"
    )
    assert (orders, sales, refunds) == (1, 1000, 10)


def test_a_day_of_refunds_alone_gives_commission_back(platform: psycopg.Connection, run_job: RunJob) -> None:
    platform.execute("delete from platform.order_items")
    platform.execute("delete from platform.orders")
    platform.execute(REFUNDED_A_DAY_LATER)
    run_job("billing-run", AT)
    [(sales, refunds, given_back)] = platform.execute(
        "select sales_minor, refunds_minor, commission_minor < 0 from platform.invoices where restaurant_id = 1"
    )
    assert (sales, refunds, given_back) == (0, 4000, True)
