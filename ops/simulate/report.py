"""A simulation's result, for people and for machines."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from ops.as_json import print_json
from ops.simulate.alarms import Page, told
from ops.simulate.scenario import Scenario
from ops.simulate.tally import Tally
from ops.table import STYLES, Cell, Table, open_console
from ops.wording import minute, second, span

TITLES = (
    "job",
    "ticks",
    "succeeded",
    "failed",
    "skipped",
    "open",
    "caught up",
    "retried",
    "lost",
    "recovered",
    "bells lost",
    "bells doubled",
    "latest start",
)
COUNTS = frozenset(TITLES[1:-1]) - {"skipped"}
FOLDS = (
    ("bells doubled", "bells lost"),
    ("recovered", "lost"),
    ("caught up", "retried"),
    ("open", "failed"),
    ("latest start", "skipped"),
)


def print_report(scenario: Scenario, tallies: Sequence[Tally], pages: Sequence[Page], *, most_pages: int) -> None:
    """Print what became of each job's ticks, and the first `most_pages` calls of a person with a count of the rest."""
    console = open_console()
    console.print(_headline(scenario))
    console.print()
    console.print(Table(TITLES, [_cells(tally) for tally in tallies], folds=FOLDS, right=COUNTS))
    for tally in tallies:
        if tally.without_row:
            console.print(f"{tally.job}: {tally.without_row} ticks have no row yet")
    console.print()
    console.print(f"a person would have been called {_times(len(pages))}{':' if pages and most_pages else ''}")
    for page in pages[:most_pages]:
        console.print(Text.assemble(f"  {second(page.at)}  ", (told(page), STYLES["failed"])), soft_wrap=True)
    if len(pages) > most_pages > 0:
        console.print(f"  and {_times(len(pages) - most_pages)} more")


def print_record(scenario: Scenario, tallies: Sequence[Tally], pages: Sequence[Page]) -> None:
    """Print the same as JSON, with every call."""
    print_json(
        {
            "from": scenario.start,
            "to": scenario.end,
            "seed": scenario.faults.seed,
            "starts": "clock" if scenario.clock else "bells",
            "outages": [asdict(span) for span in scenario.outages.spans],
            "jobs": [_record(tally) for tally in tallies],
            "pages": [asdict(page) for page in pages],
        }
    )


def _headline(scenario: Scenario) -> str:
    faults, count = scenario.faults, len(scenario.outages.spans)
    wrong = [
        *([f"{count} outage{'' if count == 1 else 's'}"] if count else []),
        *([f"{faults.lost:g} of bells lost"] if faults.lost else []),
        *([f"{faults.duplicate:g} doubled"] if faults.duplicate else []),
        *(f"{part:g} of {job}'s attempts fail" for job, part in faults.fail.items() if part),
        *(f"{part:g} of {job}'s processes die" for job, part in faults.die.items() if part),
    ]
    starts = "a clock of our own starts them" if scenario.clock else "EventBridge rings"
    return (
        f"{minute(scenario.start)} to {minute(scenario.end)}, {starts}, seed {faults.seed}; "
        f"an attempt takes {scenario.takes:g} of longest_run; {', '.join(wrong) or 'nothing goes wrong'}"
    )


def _cells(tally: Tally) -> list[Cell]:
    return [
        tally.job,
        f"{tally.ticks:,}",
        f"{tally.succeeded:,}",
        _failed(tally),
        ", ".join(f"{count:,} {reason}" for reason, count in tally.skipped.items()) or None,
        _count(tally.open),
        _count(tally.caught_up),
        _count(tally.retried),
        _count(tally.lost),
        _count(tally.recovered),
        _count(tally.unheard),
        _count(tally.doubled),
        span(tally.latest),
    ]


def _failed(tally: Tally) -> Cell:
    parts = [
        *([f"{tally.failed:,}"] if tally.failed else []),
        *([f"{tally.unknown:,} unknown"] if tally.unknown else []),
        *([f"{tally.cancelled:,} cancelled"] if tally.cancelled else []),
    ]
    return Text(", ".join(parts), style=STYLES["failed"]) if parts else None


def _count(count: int) -> str | None:
    return f"{count:,}" if count else None


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _record(tally: Tally) -> dict[str, Any]:
    facts = asdict(tally)
    latest = facts.pop("latest")
    return {**facts, "latest_start_seconds": latest.total_seconds()}
