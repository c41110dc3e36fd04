"""Retry-After in both of its forms, and in those it may not have."""

from datetime import UTC, datetime, timedelta

import pytest

from handlers.pos.retry_after import LONGEST, retry_after

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
DATE = "Sun, 29 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("0", timedelta()),
        ("7", timedelta(seconds=7)),
        (" 120 ", timedelta(minutes=2)),
        ("9" * 5000, LONGEST),
        ("99999999", LONGEST),
        ("Sun, 29 Nov 2026 12:00:30 GMT", timedelta(seconds=30)),
        ("Sunday, 29-Nov-26 12:00:30 GMT", timedelta(seconds=30)),
        ("Sun Nov 29 12:00:30 2026", timedelta(seconds=30)),
        ("Sun, 29 Nov 2026 11:00:00 GMT", timedelta()),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST),
    ],
)
def test_seconds_and_dates_are_understood_and_bounded(value: str, wait: timedelta) -> None:
    assert retry_after(value, date=DATE, now=NOW + timedelta(days=1)) == wait


@pytest.mark.parametrize("value", [None, "", "soon", "-5", "1.5", "٣", "Sun, 99 Nov 2026 12:00:00 GMT", "1e3"])
def test_a_header_that_says_nothing_is_none(value: str | None) -> None:
    assert retry_after(value, date=DATE, now=NOW) is None


def test_a_date_is_measured_from_the_senders_clock_and_from_ours_only_where_it_tells_none() -> None:
    until = "Sun, 29 Nov 2026 12:00:30 GMT"
    an_hour_off = NOW + timedelta(hours=1)
    assert retry_after(until, date=DATE, now=an_hour_off) == timedelta(seconds=30)
    assert retry_after(until, date=None, now=NOW) == timedelta(seconds=30)
    assert retry_after(until, date="nonsense", now=an_hour_off) == timedelta()
