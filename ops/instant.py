"""Reading a time from the command line."""

from datetime import UTC, datetime


def read_instant(given: str) -> datetime | None:
    """An ISO 8601 time with its zone as aware UTC; None for anything else, and for what lies beyond the calendar."""
    try:
        moment = datetime.fromisoformat(given)
        return None if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
