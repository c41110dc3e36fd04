"""A tick's key within its job: what makes two deliveries of it the same run."""

from datetime import UTC, datetime


def tick_key(tick: datetime) -> str:
    """A tick's run key: its UTC minute."""
    return tick.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")


def gap_key(wall: datetime, zone: str | None) -> str:
    """The run key of a local time (naive) that a clock change leaves out.

    Not a UTC minute: the instant that the time would have had without the change may be a tick of its own.
    """
    return f"{wall:%Y-%m-%dT%H:%M} {zone or 'UTC'}"
