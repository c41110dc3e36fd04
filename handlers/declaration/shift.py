"""A cron expression moved by some minutes, where another single expression can say it."""

from handlers.declaration.cron_calendar import Calendar
from handlers.declaration.cron_days import DaysOfMonth, DaysOfWeek
from handlers.declaration.cron_field import DAY_OF_WEEK, MONTH, YEAR, written
from handlers.declaration.cron_grammar import read

PER_HOUR, PER_DAY = 60, 24


def shifted(expression: str, minutes: int) -> str | None:
    """The expression whose ticks come `minutes` (0 to 59) later in UTC; None when no single one does so exactly.

    Raises ValueError for an expression with complaints.
    """
    reading = read(expression)
    if reading.calendar is None:
        raise ValueError("; ".join(reading.complaints))
    calendar, fields = reading.calendar, expression.upper().split()
    later = [minute + minutes for minute in calendar.minutes]
    if minutes == 0:
        return " ".join(fields)
    if later[-1] < PER_HOUR:
        return " ".join([written(later), *fields[1:]])
    fields[0] = written(sorted(minute % PER_HOUR for minute in later))
    if _every_day(calendar) and calendar.every_hour:  # what passes an hour comes into one that is chosen too
        return " ".join(fields)
    if later[0] < PER_HOUR:  # some pass the hour and some do not
        return None
    fields[1] = written(sorted((hour + 1) % PER_DAY for hour in calendar.hours))
    if calendar.hours[-1] + 1 < PER_DAY or _every_day(calendar):
        return " ".join(fields)
    if len(calendar.hours) == 1 and isinstance(calendar.rule, DaysOfWeek) and _every_month(calendar):
        fields[4] = written(sorted(day % DAY_OF_WEEK.high + 1 for day in calendar.rule.values))
        return " ".join(fields)
    return None


def _every_month(calendar: Calendar) -> bool:
    return len(calendar.months) == MONTH.high and len(calendar.years) == YEAR.high - YEAR.low + 1


def _every_day(calendar: Calendar) -> bool:
    match calendar.rule:
        case DaysOfMonth(values):
            return len(values) == 31 and _every_month(calendar)
        case DaysOfWeek(values):
            return len(values) == DAY_OF_WEEK.high and _every_month(calendar)
    return False
