"""The header Retry-After: seconds or an HTTP date (RFC 9110, section 10.2.3)."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Whoever says more means "not today"; the number could be too large for a date.
LONGEST = timedelta(days=365)
MOST_DIGITS = 8


def retry_after(value: str | None, *, date: str | None, now: datetime) -> timedelta | None:
    """How long to wait, from 0 to a year; None without the header or with one that says nothing.

    date: the header Date of the same answer. A date is compared with it and not with our own clock (`now`, aware),
    which may differ from theirs; without it with ours.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdecimal():
        return LONGEST if len(text) > MOST_DIGITS else min(timedelta(seconds=int(text)), LONGEST)
    until = _http_date(text)
    if until is None:
        return None
    return min(max(until - (_http_date(date or "") or now), timedelta()), LONGEST)


def _http_date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    # An HTTP date is in GMT; Python leaves away the zone of one that says -0000.
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
