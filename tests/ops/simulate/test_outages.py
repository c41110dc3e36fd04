"""Outages as they are written, and the times that they cover; faults as they are drawn."""

from datetime import UTC, datetime, time, timedelta

import pytest

from handlers.declaration.duration import hours, minutes
from ops.simulate.faults import Faults
from ops.simulate.outages import Daily, Outage, Span, outages, read_outage

START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2026, 1, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("02:00..05:00", Daily(time(2), time(5))),
        ("23:30..01:00", Daily(time(23, 30), time(1))),
        ("2026-01-01..2026-01-03", Span(START, datetime(2026, 1, 3, tzinfo=UTC))),
        (
            "2026-01-01T02:00Z..2026-01-01T05:00+02:00",
            Span(START + hours(2), START + hours(3)),
        ),
    ],
)
def test_an_outage_is_hours_of_each_day_or_from_one_time_to_another(given: str, meant: Outage) -> None:
    assert read_outage(given) == meant


@pytest.mark.parametrize(
    "given",
    [
        "",
        "02:00",
        "02:00..",
        "02:00..02:00",
        "24:00..01:00",
        "2026-01-03..2026-01-01",
        "2026-02-30..2026-03-01",
        "2..5",
    ],
)
def test_anything_else_is_no_outage(given: str) -> None:
    assert read_outage(given) is None


def test_a_daily_outage_over_midnight_comes_each_night_and_in_the_first_one_too() -> None:
    found = outages([Daily(time(23), time(1))], START, END).spans
    assert found == tuple(
        Span(START + timedelta(days=day) - hours(1), START + timedelta(days=day) + hours(1)) for day in range(4)
    )


def test_outages_that_touch_are_one_and_those_outside_are_none() -> None:
    given = [
        Span(START + hours(4), START + hours(6)),
        Span(START + hours(2), START + hours(4)),
        Span(END, END + hours(1)),
    ]
    found = outages(given, START, END)
    assert found.spans == (Span(START + hours(2), START + hours(6)),)
    for at, over in ((2, 6), (5, 6), (6, 6), (1, 1)):
        assert found.over(START + hours(at)) == START + hours(over)
        assert (START + hours(at) in found) == (at != over)


def test_the_share_of_faults_is_the_one_that_was_asked_for() -> None:
    faults = Faults(seed=7, lost=0.1, duplicate=0.25, fail={"a": 0.5}, die={"a": 0.1, "b": 1})
    ticks = [START + minutes(n) for n in range(4000)]
    assert sum(faults.loses("a", tick) for tick in ticks) == pytest.approx(400, abs=60)
    assert sum(faults.rings_again("a", tick) is not None for tick in ticks) == pytest.approx(1000, abs=90)
    fates = [faults.fate("a", str(n), 1) for n in range(4000)]
    assert fates.count("dies") == pytest.approx(400, abs=60)
    assert fates.count("fails") == pytest.approx(1800, abs=100)
    assert {faults.fate("b", str(n), 1) for n in range(100)} == {"dies"}
    assert {faults.fate("c", str(n), 1) for n in range(100)} == {"succeeds"}


def test_what_is_drawn_for_one_tick_depends_on_nothing_else() -> None:
    few, many = Faults(seed=7, lost=0.01), Faults(seed=7, lost=0.02, duplicate=0.5, fail={"a": 0.5})
    ticks = [START + minutes(n) for n in range(4000)]
    lost = {tick for tick in ticks if few.loses("a", tick)}
    assert lost < {tick for tick in ticks if many.loses("a", tick)}
    assert lost != {tick for tick in ticks if Faults(seed=8, lost=0.01).loses("a", tick)}
