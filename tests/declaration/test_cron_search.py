"""Next and previous ticks in UTC: against an independent implementation, against each other, and within bounds."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from aws_croniter import AwsCroniter  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.declaration import cron_calendar
from handlers.declaration.cron import Cron, cron
from handlers.declaration.cron_days import Month

FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2199, 12, 31, 23, 59, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


# The same examples in every run. The machine may be busy: an example that takes long is no failure.
unhurried = settings(deadline=None, derandomize=True)


def seeded(seed: int) -> random.Random:
    """A source of expressions that are the same in every run."""
    return random.Random(seed)  # noqa: S311 - nothing here is a secret


def written_field(rng: random.Random, low: int, high: int) -> str:
    """A field of one form of the grammar: all, a value, a list, a range that may wrap, a step from each of these."""
    first, second = rng.randint(low, high), rng.randint(low, high)
    step = rng.randint(1, max(2, (high - low) // 2))
    forms = ("*", f"{first}", f"{first},{second}", f"{first}-{second}")
    steps = (f"*/{step}", f"{first}/{step}", f"{first}-{second}/{step}", f"{first},{second}/{step}")
    return rng.choice(forms + (steps if step >= low else ()))


def written_days(rng: random.Random) -> tuple[str, str]:
    """Day-of-month and day-of-week, one of them `?`.

    Left out, since aws-croniter 2.1 has no right answer: `LW` (it raises ValueError on reading the day "L") and `L`
    as day-of-week (it looks for a weekday 0 and finds none).
    """
    if rng.random() < 0.5:
        nearest, last = f"{rng.randint(1, 31)}W", f"L-{rng.randint(1, 30)}"
        return rng.choice((written_field(rng, 1, 31), written_field(rng, 1, 31), nearest, "L", last)), "?"
    first, second = rng.choice(NAMES), rng.choice(NAMES)
    number = rng.randint(1, 7)
    forms = (
        first,
        f"{first},{second}",
        f"{first}-{second}",
        f"{number}",
        "*",
        f"{number}L",
        f"{number}#{rng.randint(1, 5)}",
    )
    return "?", rng.choice(forms)


def written_expression(rng: random.Random) -> str:
    """An expression of six fields. Years have no step: aws-croniter takes 1970-2199 as the steps of a year."""
    days, weekdays = written_days(rng)
    year = rng.choice(("*", "*", "2027", "2026,2028", "2027-2029"))
    return (
        f"{written_field(rng, 0, 59)} {written_field(rng, 0, 23)} {days} {written_field(rng, 1, 12)} {weekdays} {year}"
    )


def reference(expression: str, after: datetime, *, years: int) -> datetime | None:
    """The next tick as aws-croniter finds it within `years`.

    It gives up after ten steps from one field to another, so it is asked again from each month that follows.
    """
    croniter = AwsCroniter(expression)
    for months in range(12 * years):
        year, month = divmod(after.month - 1 + months, 12)
        begin = after if months == 0 else datetime(after.year + year, month + 1, 1, tzinfo=UTC) - MINUTE
        found: datetime | None = croniter.get_next(begin)[0]
        if found is not None:
            return found
    return None


@pytest.mark.parametrize("seed", range(20))
def test_ticks_are_those_that_aws_croniter_finds(seed: int) -> None:
    rng = seeded(seed)
    for _ in range(150):
        expression = written_expression(rng)
        after = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(3 * 365 * 24 * 3600))
        schedule = cron(expression)
        for _ in range(3):
            found = schedule.next(after)
            if found is None or found.year > after.year + 9:
                assert reference(expression, after, years=9) is None, (expression, after)
                break
            assert found == reference(expression, after, years=10), (expression, after)
            assert schedule.previous(found) == found, expression
            after = found


def test_the_last_day_of_the_week_is_each_saturday() -> None:
    found = cron("0 0 ? * L *").between(datetime(2027, 5, 1, tzinfo=UTC), datetime(2027, 6, 1, tzinfo=UTC))
    assert [tick.day for tick in found] == [1, 8, 15, 22, 29]


schedules = st.integers(min_value=0).map(lambda seed: cron(written_expression(seeded(seed))))
instants = st.datetimes(FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None), timezones=st.just(UTC))


@unhurried
@given(schedules, instants)
def test_no_tick_lies_between_the_previous_and_the_next(schedule: Cron, at: datetime) -> None:
    before, following = schedule.previous(at), schedule.next(at)
    assert before is None or (before <= at and schedule.next(before) == following)
    assert following is None or (following > at and schedule.previous(following - MINUTE) == before)


@unhurried
@given(schedules, instants)
def test_a_tick_is_a_whole_minute_in_utc(schedule: Cron, at: datetime) -> None:
    for tick in filter(None, (schedule.previous(at), schedule.next(at))):
        assert (tick.second, tick.microsecond, tick.tzinfo) == (0, 0, UTC)
        assert schedule.previous(tick) == tick


@unhurried
@given(schedules, instants)
def test_between_holds_its_start_and_not_its_end(schedule: Cron, after: datetime) -> None:
    first = schedule.next(after)
    second = schedule.next(first) if first is not None else None
    if first is not None and second is not None:
        assert list(schedule.between(first, second)) == [first]
        assert list(schedule.between(first, second + MINUTE)) == [first, second]


def test_a_tick_is_strictly_after_the_instant_that_next_is_asked_for() -> None:
    schedule = cron("0 2 * * ? *")
    tick = datetime(2027, 5, 5, 2, tzinfo=UTC)
    assert schedule.next(tick - timedelta(microseconds=1)) == tick
    assert schedule.next(tick) == tick + timedelta(days=1)
    assert schedule.previous(tick) == tick
    assert schedule.previous(tick - timedelta(microseconds=1)) == tick - timedelta(days=1)


def test_an_instant_may_be_given_in_any_zone_but_not_without_one() -> None:
    schedule = cron("0 2 * * ? *")
    assert schedule.next(datetime.fromisoformat("2027-05-05T04:30+03:00")) == datetime(2027, 5, 5, 2, tzinfo=UTC)
    with pytest.raises(ValueError, match="allowed is a time with a zone"):
        schedule.next(datetime(2027, 5, 5))


def test_searches_end_at_both_ends_of_the_years() -> None:
    schedule = cron("0 0 1 1 ? *")
    assert schedule.next(datetime.min.replace(tzinfo=UTC)) == FIRST
    assert schedule.next(LAST) is None
    assert schedule.previous(datetime.max.replace(tzinfo=UTC)) == datetime(2199, 1, 1, tzinfo=UTC)
    assert schedule.previous(FIRST - MINUTE) is None


def test_29_february_leaps_over_2100() -> None:
    schedule = cron("0 0 29 2 ? *")
    assert schedule.next(datetime(2096, 3, 1, tzinfo=UTC)) == datetime(2104, 2, 29, tzinfo=UTC)
    assert schedule.previous(datetime(2104, 2, 28, tzinfo=UTC)) == datetime(2096, 2, 29, tzinfo=UTC)


@pytest.fixture
def months_looked_up(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The months that searches look at: the work of a search, counted in a way that is the same on every machine."""
    looked_up: list[tuple[int, int]] = []
    shape = cron_calendar._shape

    def recorded(year: int, month: int) -> Month:
        looked_up.append((year, month))
        return shape(year, month)

    monkeypatch.setattr(cron_calendar, "_shape", recorded)
    return looked_up


def test_a_leap_day_is_found_by_looking_at_one_february_a_year(months_looked_up: list[tuple[int, int]]) -> None:
    assert cron("0 0 29 2 ? *").next(datetime(2024, 3, 1, tzinfo=UTC)) == datetime(2028, 2, 29, tzinfo=UTC)
    assert months_looked_up == [(2025, 2), (2026, 2), (2027, 2), (2028, 2)]


@pytest.mark.parametrize("expression", ["0 0 31 2 ? *", "0 0 L-29 2 ? *", "0 0 ? 2 1#5 2027", "0 0 31W 2-6/2 ? *"])
def test_a_date_that_never_comes_is_looked_for_once_in_each_month_it_names(
    expression: str, months_looked_up: list[tuple[int, int]]
) -> None:
    schedule = cron(expression)
    assert schedule.next(FIRST - MINUTE) is None
    assert 0 < len(months_looked_up) == len(set(months_looked_up)) <= 3 * 230
    months_looked_up.clear()
    assert schedule.previous(LAST) is None
    assert 0 < len(months_looked_up) == len(set(months_looked_up)) <= 3 * 230
