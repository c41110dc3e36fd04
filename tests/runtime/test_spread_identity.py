"""An event of a spread job means the tick before it, whose time stays the nominal one."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from handlers.declaration.cron import Cron, cron, every
from handlers.declaration.duration import minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.spread import LONGEST, offset, rung, spread_complaints
from handlers.runtime.identity import EARLY, Delivery, identify

START = datetime(2027, 3, 27, tzinfo=UTC)  # the night after, clocks in Europe go forward
SCHEDULES = (
    every(minutes=5),
    every(minutes=15),
    cron("0 2 * * ? *"),
    cron("50 22,23 * * ? *"),
    cron("0/20 0-1,23 * * ? *"),
    cron("0/15 * * * ? *", zone="Europe/Berlin"),
    cron("5,55 1,3 * * ? *", zone="Europe/Berlin"),
    cron("32,55 * * * ? *", zone="Australia/Lord_Howe"),
)


def widest(schedule: Cron) -> timedelta:
    """The largest spread that the declaration takes."""
    allowed = (minutes(count) for count in range(LONGEST // minutes(1), -1, -1))
    return next(spread for spread in allowed if not list(spread_complaints(schedule, spread)))


def job(schedule: Cron, spread: timedelta) -> Job:
    return Job("spread", target="", schedule=schedule, longest_run=minutes(1), spread=spread)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: f"{schedule.expression} {schedule.zone}")
def test_every_second_from_a_minute_early_to_the_last_of_the_widest_spread_means_the_nominal_tick(
    schedule: Cron,
) -> None:
    spread = widest(schedule)
    assert spread > timedelta()
    rng = random.Random(schedule.expression)  # noqa: S311 - nothing here is a secret
    for tick in schedule.between(START, START + timedelta(days=2)):
        last = spread + seconds(59)  # EventBridge fires somewhere within the minute
        for later in (-EARLY, timedelta(), spread, last, seconds(rng.randint(-60, last // seconds(1)))):
            found = identify(job(schedule, spread), Delivery("rule", tick + later))
            assert found.tick == tick, later


def test_a_minute_more_would_have_meant_the_tick_after_it() -> None:
    spread = widest(every(minutes=5)) + minutes(1)
    late = START + spread + seconds(30)
    assert identify(job(every(minutes=5), spread), Delivery("rule", late)).tick == START + minutes(5)


@pytest.mark.parametrize(
    "schedule", [each for each in SCHEDULES if each.zone is None], ids=lambda each: each.expression
)
def test_the_events_of_a_moved_rule_are_one_run_for_each_tick_of_the_schedule(schedule: Cron) -> None:
    spread = widest(schedule)
    name = next(name for name in map(str, range(200)) if offset(name, spread) == spread)
    moved = rung(schedule, offset(name, spread))
    events = moved.between(START + spread, START + timedelta(days=2) + spread)
    ticks = [identify(job(schedule, spread), Delivery("rule", at)).tick for at in events]
    assert ticks == list(schedule.between(START, START + timedelta(days=2)))
