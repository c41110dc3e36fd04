"""When rules and schedules fire: every cron expression in its own zone, to the second.

ministack reads every expression as UTC, loses the zone of a schedule made by CloudFormation, and looks every ten
seconds. It keeps `rate()` and `at()`; cron expressions are ours. A schedule's flexible window is not kept: it fires on
the minute.
"""

import logging
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from handlers.declaration.cron import Cron, cron
from ops.local.aws.errors import LocalAwsError
from ops.local.aws.internals import eventbridge, scheduler
from ops.local.aws.settings import ACCOUNT
from ops.local.aws.targets import Record, Targets

logger = logging.getLogger("shiftlock.local.schedules")

SECONDS_BETWEEN_SWEEPS = 1  # a schedule rings by the wall clock, which people set: it is looked at, not waited for


class Schedules:
    """The cron rules and schedules of one local AWS."""

    def __init__(self, targets: Targets, region: str) -> None:
        self._targets = targets
        self._region = region
        self._next: dict[tuple[str, str, str], datetime | None] = {}

    def install(self, *, rings: bool) -> None:
        """Takes cron expressions over from ministack; with `rings` they fire by themselves from now on."""
        eventbridge._SCHEDULER_TICK_INTERVAL = scheduler._SCHEDULE_TICK_INTERVAL = SECONDS_BETWEEN_SWEEPS
        # An expression it cannot parse is one that ministack's own sweeps leave alone.
        eventbridge._parse_cron_fields = lambda expr: None
        if rings:
            threading.Thread(target=self._sweep_for_ever, name="cron", daemon=True).start()

    def fire(self, name: str, at: datetime) -> Sequence[str]:
        """Fires an enabled rule or schedule as of a time (aware); answers the ARNs of what started.

        Raises LocalAwsError when there is no such rule or schedule, or it is disabled, and Undeliverable when a target
        does not start.
        """
        found = [record for record in _scheduled() if record["Name"] == name]
        if not found:
            known = ", ".join(sorted(record["Name"] for record in _scheduled()))
            raise LocalAwsError(f"no rule or schedule named {name}; there are: {known or 'none'}")
        if found[0]["State"] != "ENABLED":
            raise LocalAwsError(f"{name} is {found[0]['State']}; enable it to fire it")
        event = _event(found[0], at, self._region)
        return [arn for target in _targets_of(found[0]) for arn in self._targets.start(target, event, found[0])]

    def due(self, now: datetime) -> list[tuple[Record, datetime]]:
        """The enabled rules and schedules that have become due since the call before, each with its tick.

        One seen for the first time is due at its next tick. A machine that slept gets the latest tick once: what it
        missed is for catch-up to find.
        """
        found = []
        before, self._next = self._next, {}
        for record in _scheduled():
            expression, zone = record["ScheduleExpression"], record.get("ScheduleExpressionTimezone", "UTC")
            if not expression.startswith("cron("):
                continue
            key = record["Arn"], expression, zone
            schedule = cron(expression, zone=zone)
            coming = before[key] if key in before else _first(record, schedule, now)
            if coming is not None and coming <= now:
                tick, coming = schedule.previous(now) or coming, schedule.next(now)
                if record["State"] == "ENABLED" and _within_life(record, tick):
                    found.append((record, tick))
            self._next[key] = coming
        return found

    def fire_due(self, now: datetime) -> Sequence[str]:
        """Fires what is due, see `due`; answers the ARNs of what started."""
        return [
            arn
            for record, tick in self.due(now)
            for target in _targets_of(record)
            for arn in self._targets.start_or_bury(target, _event(record, tick, self._region), record)
        ]

    def _sweep_for_ever(self) -> None:
        while True:
            time.sleep(SECONDS_BETWEEN_SWEEPS)  # ticks come by the clock
            try:
                self.fire_due(datetime.now(UTC))
            except Exception:  # one broken record must not stop the rest
                # The last frame of the thread that keeps all schedules.
                logger.exception("a sweep of the schedules failed")


def _first(record: Record, schedule: Cron, now: datetime) -> datetime | None:
    if complaints := schedule.complaints():
        logger.error("%s never fires: %s", record["Arn"], "; ".join(complaints))
        return None
    return schedule.next(now)


def _scheduled() -> Iterator[Record]:
    for rule in list(eventbridge._rules._data.values()):
        if rule.get("ScheduleExpression"):
            yield rule
    yield from list(scheduler._schedules._data.values())


def _targets_of(record: Record) -> Sequence[Record]:
    if "Target" in record:
        return [record["Target"]]
    by_bus_and_rule: Mapping[Any, Sequence[Record]] = eventbridge._targets._data
    keys = [key for key, rule in list(eventbridge._rules._data.items()) if rule is record]
    return [target for key in keys for target in by_bus_and_rule.get(key, ())]


def _within_life(record: Record, tick: datetime) -> bool:
    start, end = (scheduler._to_epoch(record.get(name)) for name in ("StartDate", "EndDate"))
    return (start is None or start <= tick.timestamp()) and (end is None or tick.timestamp() <= end)


def _event(record: Record, at: datetime, region: str) -> dict[str, Any]:
    return {
        "EventId": str(uuid.uuid4()),
        "Source": "aws.scheduler" if "Target" in record else "aws.events",
        "DetailType": "Scheduled Event",
        "Detail": "{}",
        "EventBusName": "default",
        "Time": at.timestamp(),
        "Resources": [record["Arn"]],
        "Account": ACCOUNT,
        "Region": region,
    }
