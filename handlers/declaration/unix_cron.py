"""A unix crontab line in EventBridge's grammar, or why there is none.

The two differ where it hurts: unix counts days of the week from 0 = SUN, takes steps there, and runs on either day
when both day fields are restricted, but only on days that are both when one of the two begins with `*` (crontab(5),
"Note: The day of a command's execution").
"""

from dataclasses import dataclass

from handlers.declaration.cron_field import DAY_OF_WEEK, HOUR, MINUTE, MONTH, Field, written

# crontab(5), "Extensions". @reboot is left out: see NO_BOOT.
NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
NO_BOOT = "no machine boots here; say when it is due, such as @daily"
UNIX_FIELDS = "minute hour day-of-month month day-of-week"

UNIX_DAY_OF_MONTH = Field("day-of-month", 1, 31)
UNIX_DAY_OF_WEEK = Field("day-of-week", 0, 7, DAY_OF_WEEK.names)
UNIX = (MINUTE, HOUR, UNIX_DAY_OF_MONTH, MONTH, UNIX_DAY_OF_WEEK)


@dataclass(frozen=True, slots=True)
class Translation:
    """EventBridge expressions of six fields that together fire when a crontab line does; two take two jobs.

    complaints: why there is none; empty when there is.
    """

    expressions: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()


def from_unix(line: str) -> Translation:
    """What a line of five fields, or an @name, is for EventBridge. `?` for a day is `*`, as some crons have it."""
    if line.lstrip().startswith("@"):
        name = line.strip().lower()
        if name not in NICKNAMES:
            return Translation(complaints=(NO_BOOT if name == "@reboot" else f"allowed is {', '.join(NICKNAMES)}",))
        line = NICKNAMES[name]
    fields = line.upper().split()
    if len(fields) != len(UNIX):
        count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        return Translation(complaints=(f"has {count}; a unix crontab line has five: {UNIX_FIELDS}",))
    minute, hour, day_of_month, month, day_of_week = fields
    day_of_month, day_of_week = ("*" if text == "?" else text for text in (day_of_month, day_of_week))
    fields = [minute, hour, day_of_month, month, day_of_week]
    complaints = tuple(
        complaint for field, text in zip(UNIX, fields, strict=True) for complaint in _complaints(field, text)
    )
    if complaints:
        return Translation(complaints=complaints)
    return _on_days(f"{minute} {hour}", day_of_month, month, day_of_week)


def unix_complaints(line: str) -> tuple[str, ...]:
    """Why the line in `unix(...)` is no expression of EventBridge, at least not as it stands."""
    meant = from_unix(line)
    if len(meant.expressions) == 1:  # the function unix() would have put it so
        return (f"allowed is {meant.expressions[0]!r}, which is the same for EventBridge",)
    return meant.complaints or (two_jobs(meant.expressions),)


def two_jobs(expressions: tuple[str, ...]) -> str:
    """What is to be done about a line that is two expressions."""
    first, second = expressions
    return f"fires on either day and takes two jobs: {first!r} and {second!r}"


def _on_days(time: str, day_of_month: str, month: str, day_of_week: str) -> Translation:
    weekdays = _weekdays(day_of_week)
    all_days = len(UNIX_DAY_OF_MONTH.read(day_of_month)[0]) == UNIX_DAY_OF_MONTH.high
    all_weekdays = len(weekdays) == len(DAY_OF_WEEK.names)
    either = not day_of_month.startswith("*") and not day_of_week.startswith("*")
    by_day, by_weekday = f"{time} {day_of_month} {month} ? *", f"{time} ? {month} {written(weekdays)} *"
    if (all_days or all_weekdays) and either:  # such as 1-31, which is no *
        return Translation((f"{time} * {month} ? *",))
    if all_weekdays:
        return Translation((by_day,))
    if all_days:
        return Translation((by_weekday,))
    if either:
        return Translation((by_day, by_weekday))
    why = (
        f"day-of-month {day_of_month!r} and day-of-week {day_of_week!r}: unix runs on days that are both, since one of "
        "them begins with *, and EventBridge cannot say that: restrict one, and let the job look at the other"
    )
    return Translation(complaints=(why,))


def _complaints(field: Field, text: str) -> tuple[str, ...]:
    """What crontab(5) has no meaning for, and `5/15`, which some crons take for `5` and others for `5-59/15`."""
    open_steps = [item for item in text.split(",") if "/" in item and "-" not in item and not item.startswith("*")]
    if open_steps:
        return tuple(
            f"{field.name} {item!r}: allowed before / is * or a range, such as {item.replace('/', f'-{field.high}/')}"
            for item in open_steps
        )
    return field.read(text)[1]


def _weekdays(text: str) -> list[int]:
    """The days of the week, 1 is Sunday.

    A range that wraps is opened here: it goes round seven days, and the field has eight numbers for them.
    """
    values: set[int] = set()
    for item in text.split(","):
        start, dash, rest = item.partition("-")
        end, _, step = rest.partition("/")
        first, last = (UNIX_DAY_OF_WEEK.number(start), UNIX_DAY_OF_WEEK.number(end)) if dash else (0, 0)
        if first > last:
            values.update(range(first, last + len(DAY_OF_WEEK.names) + 1, int(step or 1)))
        else:
            values.update(UNIX_DAY_OF_WEEK.read(item)[0])
    return sorted({value % len(DAY_OF_WEEK.names) + 1 for value in values})
