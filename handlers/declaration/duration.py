"""Readable spans of time for the job table: `minutes(45)` instead of `timedelta(minutes=45)`."""

from datetime import timedelta


def seconds(count: float) -> timedelta:
    """A span of `count` seconds."""
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    """A span of `count` minutes."""
    return timedelta(minutes=count)


def hours(count: float) -> timedelta:
    """A span of `count` hours."""
    return timedelta(hours=count)


def days(count: float) -> timedelta:
    """A span of so many days of 24 hours."""
    return timedelta(days=count)
