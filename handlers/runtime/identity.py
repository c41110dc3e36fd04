"""Which run an event means, however often, late or early it comes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args
from uuid import uuid4

from handlers.declaration.cron import Cron
from handlers.declaration.job import Job
from handlers.declaration.run_key import tick_key

# rule, schedule: of EventBridge. clock: the scheduler of our own. catch-up: a tick that was missed. retry: a run that
# is due again. queue: a message. manual: a person.
Trigger = Literal["rule", "schedule", "clock", "catch-up", "retry", "queue", "manual"]
TRIGGERS: tuple[Trigger, ...] = get_args(Trigger)

# EventBridge fires somewhere within the minute and clocks differ: an event just before a tick means that tick.
EARLY = timedelta(minutes=1)


LARGEST_ID = 2**63 - 1  # of a bigint


class MalformedDelivery(ValueError):
    """An event, or the variables of a task, that say no trigger or time; the message shows what was given."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What rang: `at` is the event's own time (aware UTC), or the tick a person asks for; None means a new run.

    partition: the part of the job it is about, such as one restaurant; parts are locked apart from each other.
    run_id: the run of the ledger that it is about; `at`, payload and partition are then the run's own.
    key: of a message, its sender's; the run is then that of the key, and has no tick.
    """

    trigger: str
    at: datetime | None
    payload: Mapping[str, Any] = field(default_factory=dict)
    partition: str | None = None
    run_id: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """A run's key within its job, and its tick where it has one."""

    run_key: str
    tick: datetime | None


def parse_delivery(trigger: object, time: object, partition: object = None, run: object = None) -> Delivery:
    """The delivery of an event's `trigger` and `time` (ISO 8601 with zone, or None), or of the run with the id `run`.

    Raises MalformedDelivery.
    """
    if trigger not in TRIGGERS:
        raise MalformedDelivery(f"trigger is {trigger!r}: allowed is {', '.join(TRIGGERS)}")
    if partition is not None and not (isinstance(partition, str) and partition):
        raise MalformedDelivery(f"partition is {partition!r}: allowed is a word, or nothing")
    if run is not None:
        if not (run_id := str(run)).isdecimal() or not run_id.isascii() or int(run_id) > LARGEST_ID:
            raise MalformedDelivery(f"run is {run!r}: allowed is the id of a run, such as 1042")
        return Delivery(trigger, None, run_id=int(run_id))
    if time is None and trigger == "manual":
        return Delivery("manual", None, partition=partition)
    at = _instant(time)
    if at is None:
        raise MalformedDelivery(
            f"time is {time!r}: allowed is an ISO 8601 time with zone, such as 2026-11-29T02:00:00Z"
        )
    return Delivery(trigger, at, partition=partition)


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
    """The run that the delivery means: that of a message's key, or the latest tick at or before the delivery's time,
    never the time of arrival."""
    if delivery.key is not None:
        return Identity(delivery.key, None)
    if delivery.at is None:
        return Identity(f"manual:{uuid4()}", None)
    return _of_tick(_tick_meant(job.schedule, delivery.at), delivery)


def identify_by_minute(job: Job, delivery: Delivery) -> Identity | None:
    """The run of the event's own minute, where no tick of the schedule explains the event; else None.

    Another schedule has rung it, with a deploy in between. The ledger may have planned that run while it was a tick.
    """
    if delivery.at is None or delivery.trigger == "manual":
        return None
    minute = delivery.at.replace(second=0, microsecond=0)
    return _of_tick(minute, delivery) if minute - _tick_meant(job.schedule, delivery.at) > job.spread else None


def _of_tick(tick: datetime, delivery: Delivery) -> Identity:
    return Identity(tick_key(tick) + ("" if delivery.partition is None else f"/{delivery.partition}"), tick)


def _tick_meant(schedule: Cron, at: datetime) -> datetime:
    """The tick of that very minute; else the coming one if it is at most EARLY away; else the latest before."""
    minute = at.replace(second=0, microsecond=0)
    latest, coming = schedule.previous(at), schedule.next(at)
    if latest == minute:
        return latest
    if coming is not None and coming - at <= EARLY:
        return coming
    # The schedule may have changed so that nothing was due up to now: still one run per minute named.
    return latest or minute
