"""`jobs cron`: what an expression is to EventBridge, and for a unix line that both calendars say the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

from handlers.declaration.cron import BEGINNING, END, Cron, cron
from handlers.declaration.unix_cron import from_unix
from ops.as_json import print_json
from ops.refused import Refused
from ops.table import Cell, Table, open_console
from ops.unix_calendar import read_crontab
from ops.wording import iso, minute, wall

TICKS = 10


@dataclass(frozen=True, slots=True)
class Tick:
    """An instant, whether cron(8) runs then, and which expressions fire."""

    at: datetime
    unix: bool
    expressions: tuple[str, ...]


def show_cron(words: Sequence[str], *, zone: str | None, start: datetime | None, as_json: bool) -> None:
    """Print the expressions and the next ticks from `start` (aware) on, now without it. Raises Refused.

    words: one, unless the line was not quoted, and the shell has made of each * the names of the files here.
    """
    if len(words) > 1:
        raise Refused(f"{len(words)} words were given: quote the line, as in `jobs cron '15 12 * * 0'`")
    [given] = words
    unix = given.lstrip().startswith("@") or (len(given.split()) == 5 and "(" not in given)
    schedules = _translated(given, zone) if unix else [cron(given, zone=zone)]
    for schedule in schedules:
        if complaints := schedule.complaints():
            raise Refused(f"{'; '.join(complaints)}{'' if unix else _hint(given)}")
    ticks = _ticks(schedules, given if unix else None, min(max(start or datetime.now(UTC), BEGINNING), END))
    if as_json:
        print_json(
            {
                "unix": given if unix else None,
                "zone": zone or "UTC",
                "expressions": [schedule.aws for schedule in schedules],
                "ticks": [_record(tick, zone, unix=unix) for tick in ticks],
            }
        )
        return
    for schedule in schedules:
        print(schedule.aws)
    if len(schedules) > 1:
        print("two jobs, for EventBridge has no day that is one or the other; a day that is both rings twice")
    print()
    if ticks:
        open_console().print(_table(ticks, zone, unix=unix))
    else:
        print("no tick follows")


def _translated(line: str, zone: str | None) -> list[Cron]:
    meant = from_unix(line)
    if meant.complaints:
        raise Refused(f"{line!r}: {'; '.join(meant.complaints)}")
    return [cron(expression, zone=zone) for expression in meant.expressions]


def _hint(given: str) -> str:
    """Lines of a crontab come with their commands."""
    line = " ".join(given.split()[:5])
    return f"; if this is a line of a crontab, give {line!r} alone" if from_unix(line).expressions else ""


def _ticks(schedules: Sequence[Cron], line: str | None, start: datetime) -> list[Tick]:
    """The first ticks of both calendars together."""
    fired: dict[datetime, list[str]] = {}
    for schedule in schedules:
        for tick in islice(schedule.between(start, END), TICKS):
            fired.setdefault(tick, []).append(schedule.aws)
    zone = ZoneInfo(schedules[0].zone or "UTC")
    run = set() if line is None else set(islice(read_crontab(line).runs(start, zone), TICKS))
    return [Tick(at, at in run, tuple(fired.get(at, ()))) for at in sorted(run | set(fired))[:TICKS]]


def _table(ticks: Sequence[Tick], zone: str | None, *, unix: bool) -> Table:
    local = () if zone is None else (f"local time, {zone}",)
    if not unix:
        return Table(("tick", *local), [(minute(tick.at), *([wall(tick.at, zone)] if zone else [])) for tick in ticks])
    rows: list[list[Cell]] = []
    for tick in ticks:
        shown = minute(tick.at) if zone is None else wall(tick.at, zone)
        sides = [shown if there else None for there in (tick.unix, bool(tick.expressions))]
        rows.append([*([] if zone is None else [minute(tick.at)]), *sides, _mark(tick)])
    return Table((*([] if zone is None else ["tick"]), "unix", "EventBridge", ""), rows)


def _mark(tick: Tick) -> str:
    if not tick.expressions:
        return "unix alone"
    if not tick.unix:
        return "EventBridge alone"
    return "twice" if len(tick.expressions) > 1 else ""


def _record(tick: Tick, zone: str | None, *, unix: bool) -> dict[str, object]:
    record = {"tick": tick.at, "local_time": iso(tick.at, zone), "eventbridge": list(tick.expressions)}
    return {**record, "unix": tick.unix} if unix else record
