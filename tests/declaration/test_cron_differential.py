"""The engine held against a second reading of the grammar: what is refused, and which minutes are due."""

from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from random import Random

import pytest

from handlers.declaration.cron import OLDEST_TABLE, Cron
from tests.declaration.cron_by_definition import Definition, read, ticks
from tests.declaration.cron_writer import mistaken, seeded, written

FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
MINUTE = timedelta(minutes=1)

# A date of few years, of none, and of the edges of the grammar: over all years they are few enough to be walked.
RARE = [
    "0 0 29 2 ? *",
    "0 0 29 FEB ? */25",
    "59 23 31 12 ? 1970,2199",
    "7 7 L-30 1,6 ? *",
    "0 4 L-28 feb ? *",
    "0 0 31W 10-11 ? *",
    "15,45 6 1W 5/6 ? *",
    "0 12 LW 2 ? 1999-2101/3",
    "0 0 ? 2 1#5 *",
    "30 22-1/3 ? 2 sunL *",
    "0 0 ? DEC-JAN 7#5 1970/7",
    "0 0 ? 2 L 2100",
    "0 0 28-2/4 2 ? 2000-2040",
]
NEVER = [
    "0 0 31 2 ? *",
    "0 0 30 FEB ? *",
    "0 0 30,31 2 ? *",
    "0 0 31 4,JUN,9,nov ? *",
    "0 0 29 2 ? 2100",
    "0 0 29 2 ? 2027-2199/4",
    "0 0 L-29 2 ? *",
    "0 0 L-30 4/5 ? 2050",
    "0 0 30W 2 ? *",
    "0 0 31W 2-6/2 ? *",
    "0 0 ? 2 1#5 2027-2031",
    "0 0 * * ? 2020-2025",
    "0 0 ? * MON 2025",
]


def comes(definition: Definition) -> bool:
    """Whether any day from 2026 on, when the oldest table was written, is due."""
    return any(True for _ in definition.days(OLDEST_TABLE.date(), date(2199, 12, 31)))


@pytest.mark.parametrize("seed", range(8))
def test_an_expression_is_refused_exactly_when_the_grammar_lacks_it_or_its_day_never_comes(seed: int) -> None:
    rng = seeded(f"refused {seed}")
    counts = {"taken": 0, "not in the grammar": 0, "never fires": 0}
    for expression in (write(rng) for _ in range(300) for write in (written, mistaken)):
        definition = read(expression)
        complaints = Cron(expression).complaints()
        if definition is None:
            counts["not in the grammar"] += 1
            assert complaints, expression
            assert "never fires" not in "".join(complaints), expression
        elif comes(definition):
            counts["taken"] += 1
            assert complaints == (), expression
        else:
            counts["never fires"] += 1
            assert len(complaints) == 1, expression
            assert ": never fires, since it" in complaints[0], expression
    assert all(counts.values()), counts  # each kind was met


@pytest.mark.parametrize("seed", range(8))
def test_ticks_are_the_minutes_that_the_fields_select_day_by_day(seed: int) -> None:
    rng = seeded(f"ticks {seed}")
    for _ in range(200):
        expression = written(rng)
        definition = read(expression)
        assert definition is not None, expression
        per_day = len(definition.times())
        start = FIRST + timedelta(seconds=rng.randrange(int((LAST - FIRST) / timedelta(seconds=1))))
        if rng.random() < 0.5 and definition.years:  # near the years that the expression names
            start = start.replace(year=rng.choice(sorted(definition.years)), day=min(start.day, 28))
        end = start + timedelta(days=max(1.5, min(800, 60 / per_day)))
        compare(rng, expression, definition, start, end)


@pytest.mark.parametrize("expression", [*RARE, *NEVER])
def test_over_all_years_a_rare_date_is_found_whenever_it_comes_and_nothing_else_is(expression: str) -> None:
    definition = read(expression)
    assert definition is not None
    compare(seeded(expression), expression, definition, FIRST - timedelta(days=1), LAST + timedelta(days=1))
    assert any(expression == never for never in NEVER) == (not comes(definition))


def compare(rng: Random, expression: str, definition: Definition, start: datetime, end: datetime) -> None:
    """Hold `between`, `next` and `previous` from `start` to `end` against the walk through the calendar."""
    schedule = Cron(expression)
    expected = [
        tick.replace(tzinfo=UTC) for tick in ticks(definition, start.replace(tzinfo=None), end.replace(tzinfo=None))
    ]
    assert list(schedule.between(start, end)) == expected, expression
    instants = [start + rng.random() * (end - start) for _ in range(3)]
    for tick in rng.sample(expected, min(4, len(expected))):
        instants += [tick - INSTANT, tick, tick + INSTANT, tick + MINUTE]
    for instant in instants:
        upcoming = expected[bisect_right(expected, instant) :]
        following = schedule.next(instant)
        assert following == upcoming[0] if upcoming else following is None or following >= end, (expression, instant)
        past = expected[: bisect_right(expected, instant)]
        before = schedule.previous(instant)
        assert before == past[-1] if past else before is None or before < start, (expression, instant)
    for tick, before in islice(pairwise(reversed(expected)), 20):
        assert schedule.previous(tick - INSTANT) == before, (expression, tick)
