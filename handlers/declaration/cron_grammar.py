"""Read a cron expression whole: six fields into a calendar, or every complaint about it."""

import re
from dataclasses import dataclass
from functools import lru_cache

from handlers.declaration.cron_calendar import Calendar
from handlers.declaration.cron_days import DayRule, day_of_month_rule, day_of_week_rule
from handlers.declaration.cron_field import HOUR, MINUTE, MONTH, YEAR
from handlers.declaration.unix_cron import from_unix, two_jobs, unix_complaints

FIELDS = "minute hour day-of-month month day-of-week year"
OTHER_FORMS = re.compile(r"\s*(?P<form>rate|at|every|unix)\s*\((?P<inner>.*)", re.DOTALL | re.IGNORECASE)
EVERY = "minutes that divide an hour (1 2 3 4 5 6 10 12 15 20 30 60) or hours that divide a day (1 2 3 4 6 8 12 24)"
FORMS = {
    "rate": "allowed is cron; a rate counts from its deployment, so use every(minutes=...) or every(hours=...)",
    "at": "allowed is cron, which may name one year, such as 0 2 15 1 ? 2027",
    "every": f"allowed is {EVERY}",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What an expression says: a calendar when there is no complaint."""

    calendar: Calendar | None
    complaints: tuple[str, ...]


@lru_cache(maxsize=1024)
def read(expression: str) -> Reading:
    """The calendar of six fields, or all complaints, each naming field, value and what is allowed."""
    if form := OTHER_FORMS.fullmatch(expression):
        name = form["form"].lower()
        why = unix_complaints(form["inner"].rstrip().removesuffix(")")) if name == "unix" else (FORMS[name],)
        return Reading(None, tuple(f"{expression!r}: {text}" for text in why))
    fields = expression.upper().split()
    if len(fields) != 6:
        return Reading(None, (f"{expression!r}: has {_count(len(fields))}; allowed are six: {FIELDS}{_hint(fields)}",))
    minute, hour, day_of_month, month, day_of_week, year = fields
    minutes, wrong_minutes = MINUTE.read(minute)
    hours, wrong_hours = HOUR.read(hour)
    rule, wrong_days = _day_rule(day_of_month, day_of_week)
    months, wrong_months = MONTH.read(month)
    years, wrong_years = YEAR.read(year)
    complaints = wrong_minutes + wrong_hours + wrong_days + wrong_months + wrong_years
    return Reading(None if complaints else Calendar(minutes, hours, months, years, rule), complaints)


def _day_rule(day_of_month: str, day_of_week: str) -> tuple[DayRule, tuple[str, ...]]:
    """The rule of whichever day field is not `?`. Restrictions in "Cron expressions reference": one of them must be."""
    if day_of_month == "?" and day_of_week != "?":
        return day_of_week_rule(day_of_week)
    rule, complaints = day_of_month_rule("*" if day_of_month == "?" else day_of_month)
    if day_of_week == "?" and day_of_month != "?":
        return rule, complaints
    if day_of_week != "?":
        complaints += day_of_week_rule(day_of_week)[1]
    both = (
        f"day-of-month {day_of_month!r} and day-of-week {day_of_week!r}: exactly one of the two must be ?, "
        "and the other says the days"
    )
    return rule, (*complaints, both)


def _hint(fields: list[str]) -> str:
    meant = from_unix(" ".join(fields)).expressions if len(fields) == 5 else ()
    if len(meant) == 1:
        return f"; if this is unix cron, write {meant[0]!r}"
    return f"; if this is unix cron, it {two_jobs(meant)}" if meant else ""


def _count(fields: int) -> str:
    return "no fields" if fields == 0 else "1 field" if fields == 1 else f"{fields} fields"
