"""What reading a cron expression and finding its next tick cost, beside a library and beside walking the minutes.

Each round measures every contender once, in turn, in CPU time, so that a busy machine slows none of them; what counts
are the ratios. Every answer is held against the walk's.

    python -m benchmarks.cron [--rounds 5]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

from aws_croniter import AwsCroniter  # type: ignore[import-untyped]

from handlers.declaration.cron import Cron
from handlers.declaration.cron_grammar import read as read_expression
from tests.declaration.cron_by_definition import Definition, read
from tests.declaration.cron_writer import mistaken, seeded, written

MINUTE = timedelta(minutes=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
EXPRESSIONS = 2_000  # in a round, each new
REPEATS = 200  # of a search that is too short to be timed alone
ZONES = (None, "Europe/Berlin", "America/New_York", "Asia/Riyadh")
SCHEDULES = (
    ("every five minutes", "0/5 * * * ? *", None),
    ("weekdays at 02:00", "0 2 ? * MON-FRI *", None),
    ("weekdays at 02:00 in Berlin", "0 2 ? * MON-FRI *", "Europe/Berlin"),
    ("hourly at Lord Howe", "0 * * * ? *", "Australia/Lord_Howe"),
    ("last weekday of the month", "30 4 LW * ? *", "America/Santiago"),
    ("29 February", "0 0 29 2 ? *", None),
    ("29 February in Berlin", "0 0 29 2 ? *", "Europe/Berlin"),
)


def main() -> None:
    """Print validations per second, and microseconds per search, each with its ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"{'':30} validations per second   ratio to aws-croniter   (distinct expressions, {rounds} rounds)")
    rates = validations(rounds)
    library = rates["aws-croniter, syntax alone"]
    for name, rate in rates.items():
        print(f"{name:30} {rate:22,.0f} {rate / library:23.2f}")
    print()
    print(f"{'next tick':30} median us   walking the minutes, us     ratio")
    for name, expression, zone in SCHEDULES:
        ours, walked = searches(expression, zone, rounds)
        print(f"{name:30} {ours * 1e6:9.1f} {walked * 1e6:25,.0f} {walked / ours:9,.1f}")


def validations(rounds: int) -> dict[str, float]:
    """Expressions per second that each contender accepts or refuses; one in five has a mistake."""
    rng = seeded("validations")
    contenders: dict[str, Callable[[str, str | None], object]] = {
        "Cron.complaints, UTC": lambda expression, _: Cron(expression).complaints(),
        "Cron.complaints, four zones": lambda expression, zone: Cron(expression, zone).complaints(),
        "aws-croniter, syntax alone": lambda expression, _: library_accepts(expression),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        expressions = distinct(rng)
        for name, contender in contenders.items():
            read_expression.cache_clear()
            began = time.process_time()
            for number, expression in enumerate(expressions):
                contender(expression, ZONES[number % len(ZONES)])
            seconds[name].append(time.process_time() - began)
    return {name: EXPRESSIONS / statistics.median(taken) for name, taken in seconds.items()}


def distinct(rng: Random) -> list[str]:
    """New expressions over the whole grammar."""
    found: set[str] = set()
    while len(found) < EXPRESSIONS:
        found.add(mistaken(rng) if rng.random() < 0.2 else written(rng))
    return sorted(found)


def library_accepts(expression: str) -> bool:
    """Whether aws-croniter takes it. Some forms it fails on (LW): what counts here is what it costs to hear so."""
    try:
        AwsCroniter(expression)
    except ValueError:
        return False
    return True


def searches(expression: str, zone: str | None, rounds: int) -> tuple[float, float]:
    """Median CPU seconds of `next` and of walking the minutes, from the same instants."""
    rng, schedule, definition = seeded(expression), Cron(expression, zone), read(expression)
    if definition is None:
        raise SystemExit(f"benchmark: {expression!r} is not in the grammar")
    ours, walked = [], []
    for _ in range(rounds):
        after = START + rng.randrange(2 * 365 * 24 * 60) * MINUTE
        began = time.process_time()
        for _ in range(REPEATS):
            found = schedule.next(after)
        ours.append((time.process_time() - began) / REPEATS)
        began = time.process_time()
        expected = walk(definition, ZoneInfo(zone or "UTC"), after)
        walked.append(time.process_time() - began)
        if found != expected:
            raise SystemExit(f"benchmark: {expression!r} after {after}: found {found}, walked to {expected}")
    return statistics.median(ours), statistics.median(walked)


def walk(definition: Definition, zone: ZoneInfo, after: datetime) -> datetime:
    """The next tick by asking each minute whether it is due."""
    every_hour = len(definition.hours) == 24
    minute = after
    while True:
        minute += MINUTE
        wall = minute.astimezone(zone)
        if due(definition, wall) and (every_hour or not wall.fold):
            return minute


def due(definition: Definition, wall: datetime) -> bool:
    """Whether each field selects its part of the local time."""
    return (
        wall.minute in definition.minutes
        and wall.hour in definition.hours
        and wall.month in definition.months
        and wall.year in definition.years
        and definition.due(wall.date())
    )


if __name__ == "__main__":
    main()
