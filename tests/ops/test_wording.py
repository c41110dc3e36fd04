"""How spans, times and places are written."""

from datetime import UTC, datetime, timedelta

import pytest

from handlers.declaration.duration import hours, minutes, seconds
from handlers.declaration.placement import Placement
from handlers.declaration.policy import Retry
from ops.instant import read_instant
from ops.wording import iso, minute, one_line, retries, second, size, span, wall

AT = datetime(2026, 11, 28, 23, 0, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("length", "written"),
    [
        (timedelta(), "0 s"),
        (timedelta(milliseconds=0.4), "0 ms"),
        (timedelta(milliseconds=21), "21 ms"),
        (timedelta(milliseconds=999.6), "1 s"),
        (seconds(1.44), "1.4 s"),
        (seconds(5), "5 s"),
        (seconds(9.96), "10 s"),
        (seconds(59.6), "1 min"),
        (seconds(200), "3 min 20 s"),
        (minutes(45), "45 min"),
        (hours(1.5), "1 h 30 min"),
        (seconds(3600 * 24 - 1), "23 h 59 min"),
        (hours(24), "1 d"),
        (hours(51), "2 d 3 h"),
    ],
)
def test_a_span_has_at_most_two_units(length: timedelta, written: str) -> None:
    assert span(length) == written


@pytest.mark.parametrize(
    ("zone", "clock", "standard"),
    [
        ("Asia/Riyadh", "2026-11-29 02:00+03", "2026-11-29T02:00:03+03:00"),
        ("Asia/Kolkata", "2026-11-29 04:30+05:30", "2026-11-29T04:30:03+05:30"),
        ("America/New_York", "2026-11-28 18:00-05", "2026-11-28T18:00:03-05:00"),
    ],
)
def test_a_time_is_shown_by_the_clocks_of_its_zone(zone: str, clock: str, standard: str) -> None:
    assert wall(AT, zone) == clock
    assert iso(AT, zone) == standard


def test_a_time_in_utc_is_a_tick_to_the_minute_and_a_start_to_the_second() -> None:
    riyadh = datetime.fromisoformat("2026-11-29T02:00:03+03:00")
    assert (minute(riyadh), second(riyadh)) == ("2026-11-28T23:00Z", "2026-11-28 23:00:03")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("2026-11-29T02:00Z", datetime(2026, 11, 29, 2, tzinfo=UTC)),
        ("2026-11-29T05:00:00+03:00", datetime(2026, 11, 29, 2, tzinfo=UTC)),
        ("2026-11-29T02:00", None),
        ("2026-11-29", None),
        ("tomorrow", None),
        ("9999-12-31T23:59:00-11:00", None),
        ("0001-01-01T00:00+10:00", None),
    ],
)
def test_only_a_time_with_its_zone_is_read(given: str, read: datetime | None) -> None:
    assert read_instant(given) == read


def test_a_place_is_written_with_its_size() -> None:
    assert size(Placement("lambda", 256, None, 512, "it fits")) == "256 MB"
    assert size(Placement("fargate", 4096, 512, 20480, "it is long")) == "0.5 vCPU 4096 MB"


def test_retries_say_how_many_and_how_far_apart_at_most() -> None:
    assert retries(Retry(attempts=1)) == "1 attempt"
    assert retries(Retry(attempts=3, base=seconds(1), cap=minutes(5))) == "3 attempts, at most 2 s apart"
    assert retries(Retry(attempts=20, base=seconds(1), cap=minutes(5))) == "20 attempts, at most 5 min apart"


def test_text_from_elsewhere_cannot_steer_a_terminal_and_is_cut_where_it_is_too_long() -> None:
    assert one_line("a\x1b[31mred\nline\x07") == "a [31mred line"
    assert one_line("0123456789", 10) == "0123456789"
    assert one_line("0123456789A", 10) == "0123456..."
