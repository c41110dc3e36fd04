"""Which rows are planned ahead, by what the ledger has and what the clock says."""

from datetime import UTC, datetime, timedelta

from handlers.declaration.cron import Cron, cron, every
from handlers.declaration.duration import hours, minutes
from handlers.planning.ahead import HORIZON, PORTION, Plan, plan_ahead

NOON = datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC)
HOURLY = every(hours=1)


def planned(schedule: Cron, *, before: Cron | None, planned_until: datetime | None, now: datetime = NOON) -> Plan:
    plan = plan_ahead(schedule, before=before, planned_until=planned_until, now=now)
    assert plan is not None
    return plan


def keys(plan: Plan) -> list[str]:
    return [row.run_key for row in plan.rows]


def test_a_new_job_has_missed_nothing_and_has_its_coming_ticks() -> None:
    plan = planned(HOURLY, before=None, planned_until=None)
    assert keys(plan) == ["2026-11-29T13:00Z", "2026-11-29T14:00Z"]
    assert plan.until == NOON + hours(2)


def test_nothing_is_planned_while_the_coming_hour_is() -> None:
    assert plan_ahead(HOURLY, before=HOURLY, planned_until=NOON + HORIZON, now=NOON) is None


def test_every_tick_between_the_last_planning_and_now_gets_its_row() -> None:
    plan = planned(HOURLY, before=HOURLY, planned_until=NOON - hours(3))
    assert keys(plan) == [f"2026-11-29T{hour:02}:00Z" for hour in (10, 11, 12, 13, 14)]


def test_a_tick_at_the_end_of_one_planning_is_not_lost_or_planned_twice_by_the_next() -> None:
    noon = NOON.replace(second=0)
    first = planned(HOURLY, before=HOURLY, planned_until=noon - hours(1), now=noon)
    assert first.until == noon + hours(2)
    second = planned(HOURLY, before=HOURLY, planned_until=first.until, now=noon + hours(2))
    assert keys(first)[-1] == "2026-11-29T14:00Z"
    assert keys(second)[0] == "2026-11-29T15:00Z"


def test_a_long_outage_is_planned_in_portions_and_what_is_due_now_beside_them() -> None:
    minutely = every(minutes=1)
    start = NOON - timedelta(days=30)
    plan = planned(minutely, before=minutely, planned_until=start)
    assert len(plan.rows) == PORTION + 180  # a portion of the oldest; the last hour, and two ahead
    assert plan.until == plan.rows[PORTION - 1].tick
    assert plan.rows[-1].tick == NOON.replace(second=0) + hours(2)
    passes = 1
    while plan.until < NOON:
        plan = planned(minutely, before=minutely, planned_until=plan.until)
        passes += 1
    assert passes == 30 * 1440 // PORTION + 1


def test_a_changed_schedule_counts_from_now_and_what_was_missed_before_was_due_by_the_old_one() -> None:
    old, new = cron("15 * * * ? *"), cron("45 * * * ? *")
    plan = planned(new, before=old, planned_until=NOON - hours(2))
    assert keys(plan) == ["2026-11-29T10:15Z", "2026-11-29T11:15Z", "2026-11-29T12:45Z", "2026-11-29T13:45Z"]
    assert plan.until == NOON + hours(2)


def test_a_changed_schedule_replaces_what_was_planned_ahead_by_the_old_one() -> None:
    plan = planned(cron("45 * * * ? *"), before=cron("15 * * * ? *"), planned_until=NOON + hours(2))
    assert keys(plan) == ["2026-11-29T12:45Z", "2026-11-29T13:45Z"]


def test_a_changed_schedule_waits_until_all_that_the_old_one_missed_is_on_record() -> None:
    old, new = every(minutes=1), every(hours=1)
    plan = planned(new, before=old, planned_until=NOON - timedelta(days=3))
    assert plan.until == plan.rows[PORTION - 1].tick < NOON
    assert keys(plan)[PORTION:][-2:] == ["2026-11-29T13:00Z", "2026-11-29T14:00Z"]


def test_a_local_time_that_the_clock_change_leaves_out_has_a_row_of_its_own_key() -> None:
    berlin = cron("30 2 * * ? *", zone="Europe/Berlin")
    night = datetime(2025, 3, 30, 0, 0, tzinfo=UTC)
    plan = planned(berlin, before=berlin, planned_until=night, now=night)
    assert [(row.run_key, row.gap) for row in plan.rows] == [("2025-03-30T02:30 Europe/Berlin", True)]
    # 03:30 on the wall is the same instant: a tick of another schedule, which the key above must not take.
    assert plan.rows[0].tick == datetime(2025, 3, 30, 1, 30, tzinfo=UTC)


def test_a_day_of_25_hours_has_25_rows_for_a_job_of_every_hour() -> None:
    schedule = cron("0 * * * ? *", zone="America/New_York")
    now = datetime(2025, 11, 2, 4, 0, tzinfo=UTC)  # midnight in New York
    found: list[str] = []
    until = now - minutes(1)
    while until < now + timedelta(hours=25) - minutes(1):
        plan = planned(schedule, before=schedule, planned_until=until, now=until)
        found += keys(plan)
        until = plan.until
    day = [key for key in found if "2025-11-02T04:00Z" <= key < "2025-11-03T05:00Z"]
    assert len(day) == len(set(day)) == 25
