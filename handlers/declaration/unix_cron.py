"""What a unix crontab line would be in EventBridge's grammar, to tell those who wrote five fields what they meant.

The two differ where it hurts: unix counts days of the week from 0 = SUN, and runs on either day when both day fields
are restricted (crontab(5), "Note: The day of a command's execution").
"""

from handlers.declaration.cron_field import DAY_OF_WEEK, Field

UNIX_DAY_OF_WEEK = Field("day-of-week", 0, 7, DAY_OF_WEEK.names)


def from_unix(fields: list[str]) -> tuple[str, ...]:
    """The expressions that together fire when the five fields (upper case) do: one, two, or none if there are none.

    Only days of the week are read here: what else is wrong with the fields stays wrong in the answer.
    """
    minute, hour, day_of_month, month, day_of_week = fields
    by_month_day = f"{minute} {hour} {day_of_month} {month} ? *"
    if day_of_week in {"*", "?"}:
        return (by_month_day,)
    values, complaints = UNIX_DAY_OF_WEEK.read(day_of_week)
    if complaints:
        return ()
    by_weekday = f"{minute} {hour} ? {month} {_ranges(sorted({value % 7 + 1 for value in values}))} *"
    if day_of_month in {"*", "?"}:
        return (by_weekday,)
    # crontab(5): a field that begins with * narrows the other instead of adding to it. EventBridge has no "both".
    return () if "*" in day_of_month[0] + day_of_week[0] else (by_month_day, by_weekday)


def _ranges(values: list[int]) -> str:
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
