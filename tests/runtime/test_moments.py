"""When a clock looks again, and when the time has jumped."""

from datetime import UTC, datetime, timedelta

import pytest

from handlers.runtime.moments import Moment, jump, until_next_look

AT = datetime(2026, 11, 29, 12, 0, 45, tzinfo=UTC)


@pytest.mark.parametrize(
    ("coming", "contended", "seconds"),
    [
        (None, False, 15),
        (timedelta(seconds=7), False, 7),
        (timedelta(seconds=40), False, 15),
        (timedelta(seconds=-3), False, 0.2),
        (timedelta(seconds=7), True, 7),
        (None, True, 15),
    ],
)
def test_a_clock_looks_at_the_full_minute_and_when_something_is_due_before(
    coming: timedelta | None, *, contended: bool, seconds: float
) -> None:
    at = None if coming is None else AT + coming
    assert until_next_look(AT, coming=at, contended=contended) == seconds


def test_a_run_that_another_clock_has_called_is_looked_at_again_soon() -> None:
    at = AT.replace(second=1)
    assert until_next_look(at, coming=None, contended=True) == 20
    assert until_next_look(at, coming=None, contended=False) == 59


@pytest.mark.parametrize("slept", [timedelta(minutes=78), timedelta(hours=-1)])
def test_a_machine_that_slept_and_a_clock_that_was_set_are_noticed(slept: timedelta) -> None:
    before = Moment(AT, 100.0)
    assert jump(before, Moment(AT + timedelta(seconds=60) + slept, 160.0)) == slept
    assert jump(before, Moment(AT + timedelta(seconds=61), 160.0)) is None
