"""Which run an event means, however often, late or early it comes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import uuid4

from handlers.declaration.job import Job

Trigger = Literal["rule", "schedule", "manual"]
TRIGGERS: tuple[Trigger, ...] = ("rule", "schedule", "manual")

# EventBridge fires somewhere within the minute and clocks differ: an event just before a tick means that tick.
EARLY = timedelta(minutes=1)


class MalformedDelivery(ValueError):
    """An event, or the variables of a task, that say no trigger or time; the message shows what was given."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What rang: `at` is the event's own time (aware UTC), or the tick a person asks for; None means a new run."""

    trigger: Trigger
    at: datetime | None
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Identity:
    """A run's key within its job, and its tick where it has one."""

    run_key: str
    tick: datetime | None


def parse_delivery(trigger: object, time: object) -> Delivery:
    """The delivery of an event's `trigger` and `time` (ISO 8601 with zone, or None). Raises MalformedDelivery."""
    if trigger not in TRIGGERS:
        raise MalformedDelivery(f"trigger is {trigger!r}: allowed is {', '.join(TRIGGERS)}")
    if time is None and trigger == "manual":
        return Delivery("manual", None)
    at = _instant(time)
    if at is None:
        raise MalformedDelivery(
            f"time is {time!r}: allowed is an ISO 8601 time with zone, such as 2026-11-29T02:00:00Z"
        )
    return Delivery(trigger, at)


def _instant(time: object) -> datetime | None:
    """The time in UTC; None when it is no time, has no zone or lies beyond the calendar."""
    try:
        at = datetime.fromisoformat(time) if isinstance(time, str) else None
        if at is None or at.tzinfo is None:
            return None
        return at.astimezone(UTC) if at.year < datetime.max.year else None
    except (ValueError, OverflowError):
        return None


def identify(job: Job, delivery: Delivery) -> Identity:
    """The run that the delivery means: the latest tick at or before its time, never the time of arrival."""
    if delivery.at is None:
        return Identity(f"manual:{uuid4()}", None)
    tick = job.schedule.previous(delivery.at + EARLY)
    if tick is None:
        # The schedule has changed so that nothing was due up to now: still one run per minute named.
        tick = delivery.at.replace(second=0, microsecond=0)
    return Identity(tick_key(tick), tick)


def tick_key(tick: datetime) -> str:
    """A tick's run key: its UTC minute."""
    return tick.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")
