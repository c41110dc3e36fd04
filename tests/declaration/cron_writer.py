"""Random cron expressions over EventBridge's whole grammar, and the same with a slip of the pen in them."""

import random

from tests.declaration.cron_by_definition import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    YEAR,
    Column,
)

ALPHABET = "0123456789,-*/?LWl#SUNfri "
WRONG = ("0", "60", "24", "32", "13", "8", "1969", "2200", "?", "*", "5/0", "9-", "2030-2027")  # in most fields


def seeded(seed: object) -> random.Random:
    """A source of expressions that are the same in every run."""
    return random.Random(str(seed))  # noqa: S311 - nothing here is a secret


def written(rng: random.Random) -> str:
    """An expression of the grammar; some name a date that never comes, or years that are over."""
    day_of_month, day_of_week = days(rng)
    year = rng.choice(("*", "*", "*", field(rng, YEAR)))
    return f"{field(rng, MINUTE)} {field(rng, HOUR)} {day_of_month} {field(rng, MONTH)} {day_of_week} {year}"


def field(rng: random.Random, column: Column) -> str:
    """All values, or a list of one to three items."""
    if rng.random() < 0.2:
        return "*"
    return ",".join(item(rng, column) for _ in range(rng.choice((1, 1, 1, 2, 3))))


def item(rng: random.Random, column: Column) -> str:
    """A value, a range that may wrap, or a step from one of them or from all."""
    first, last = rng.randint(column.low, column.high), rng.randint(column.low, column.high)
    if not column.wraps:
        first, last = min(first, last), max(first, last)
    begin, end = spelled(rng, column, first), spelled(rng, column, last)
    forms = [begin, f"{begin}-{end}"]
    if column.longest_step:
        step = rng.randint(1, column.longest_step)
        forms += [f"*/{step}", f"{begin}/{step}", f"{begin}-{end}/{rng.randint(1, 5)}"]
    return rng.choice(forms)


def spelled(rng: random.Random, column: Column, number: int) -> str:
    """A number, perhaps with a zero before it, or its name in any case."""
    if column.names and rng.random() < 0.5:
        name = column.names[number - column.low]
        return rng.choice((name, name.lower(), name.title()))
    return rng.choice((f"{number}", f"{number}", f"{number:02}"))


def days(rng: random.Random) -> tuple[str, str]:
    """Day-of-month and day-of-week, one of them `?`, in each of their forms."""
    if rng.random() < 0.5:
        special = ["L", "l", "LW", f"L-{rng.randint(1, 30)}", f"{rng.randint(1, 31)}W", f"{rng.randint(1, 31)}w"]
        return rng.choice((field(rng, DAY_OF_MONTH), rng.choice(special))), "?"
    day = spelled(rng, DAY_OF_WEEK, rng.randint(1, 7))
    special = ["L", f"{day}L", f"{day}l", f"{day}#{rng.randint(1, 5)}"]
    return "?", rng.choice((field(rng, DAY_OF_WEEK), rng.choice(special)))


def mistaken(rng: random.Random) -> str:
    """An expression after one or two slips: a sign more, less or other, a field moved, doubled, lost or too large."""
    text = written(rng)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(text))
        fields = text.split() or ["?"]
        chosen = rng.randrange(len(fields))
        slip = rng.randrange(6)
        if slip == 0:
            text = text[:at] + rng.choice(ALPHABET) + text[at:]
        elif slip == 1:
            text = text[:at] + text[at + 1 :] or "?"
        elif slip == 2:
            text = text[:at] + rng.choice(ALPHABET) + text[at + 1 :]
        elif slip == 3:
            text = " ".join(fields[:chosen] + fields[chosen + 1 :]) or "?"
        elif slip == 4:
            fields[chosen], fields[chosen - 1] = fields[chosen - 1], fields[chosen]
            text = " ".join(fields)
        else:
            fields[chosen] = rng.choice(WRONG)
            text = " ".join(fields)
    return text
