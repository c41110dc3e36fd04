"""Which rows the ledger should have ahead of time: a pure function of schedule and clock."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from handlers.declaration.cron import Cron, skipped_by_dst
from handlers.declaration.duration import hours
from handlers.declaration.run_key import gap_key, tick_key
from handlers.declaration.zones import wall_clock

# The coming hour is always planned. Planning twice as far means that most passes find nothing to plan.
HORIZON = hours(1)
REACH = hours(2)
# After a long outage the missed ticks get their rows in portions of so many per pass, the oldest first. What is due
# now must not wait for them, so the last hour is planned beside them.
PORTION = 2000
RECENT = hours(1)

AN_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Row:
    """A row to plan. gap: a clock change leaves its local time out, so that it ends skipped at once."""

    run_key: str
    tick: datetime
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows to plan, and the time up to which every tick then has its row."""

    rows: tuple[Row, ...]
    until: datetime


def plan_ahead(schedule: Cron, *, before: Cron | None, planned_until: datetime | None, now: datetime) -> Plan | None:
    """The rows that are missing; None when the coming hour is planned.

    before: the schedule that the rows there are were planned by, up to `planned_until`; both None for a job without
    rows, which has missed nothing. A changed schedule counts from now: what was due until now was due by the old one.
    """
    if before is None or planned_until is None:
        return _after(schedule, now, now + REACH)
    if before != schedule:
        missed = _after(before, min(planned_until, now), now)
        ahead = _after(schedule, now, now + REACH)
        # While the old schedule has more to be put on record, its portions go on and the new one is planned beside.
        return Plan((*missed.rows, *ahead.rows), ahead.until if missed.until >= now else missed.until)
    if planned_until >= now + HORIZON:
        return None
    missed = _after(schedule, planned_until, now + REACH)
    recent = _after(schedule, max(missed.until, now - RECENT), now + REACH)
    return Plan((*missed.rows, *recent.rows), missed.until)


def _after(schedule: Cron, start: datetime, end: datetime) -> Plan:
    """Ticks and gaps after `start` up to `end`, or as far as a portion goes."""
    start, end = start + AN_INSTANT, end + AN_INSTANT
    ticks = list(islice(schedule.between(start, end), PORTION))
    if len(ticks) == PORTION:
        end = ticks[-1] + AN_INSTANT
    rows = [*(Row(tick_key(tick), tick) for tick in ticks), *_gaps(schedule, start, end)]
    return Plan(tuple(rows), end - AN_INSTANT)


def _gaps(schedule: Cron, start: datetime, end: datetime) -> Iterator[Row]:
    for wall in skipped_by_dst(schedule, start, end):
        yield Row(gap_key(wall, schedule.zone), wall_clock(schedule.zone).unchanged(wall), gap=True)
