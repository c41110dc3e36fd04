"""`jobs show`: all that the ledger knows of one run."""

import json
from dataclasses import asdict
from datetime import datetime

from rich.text import Text

from handlers.schedule import SCHEDULE
from ops.as_json import print_json
from ops.configured import needed
from ops.facts import Facts
from ops.ledger import AttemptDetails, Family, RunDetails, details, family
from ops.names import known_run
from ops.reading import reading
from ops.run_cells import how_far, state, took
from ops.table import Cell, Table, open_console, status_text
from ops.wording import minute, one_line, second, wall

TITLES = ("attempt", "outcome", "started (UTC)", "took", "steps", "compute", "holder", "error")
FOLDS = (("holder", "compute"), ("compute", "outcome"))
MOST_ATTEMPTS = 20


def show_run(name: str, *, as_json: bool) -> None:
    """Print the run of an id or JOB@TICK. Raises UnknownJob, Refused, and what reading the ledger raises."""
    with reading(needed()) as ledger:
        run, attempts = details(ledger, known_run(name, ledger))
        related = family(ledger, run.id)
    if as_json:
        print_json({**asdict(run), "family": asdict(related), "attempts": [asdict(attempt) for attempt in attempts]})
        return
    console = open_console()
    console.print(Facts(_facts(run, related) | _of_family(related)))
    if attempts:
        console.print()
        rows = [_cells(attempt) for attempt in attempts[-MOST_ATTEMPTS:]]
        console.print(Table(TITLES, rows, folds=FOLDS, right=frozenset({"attempt", "steps"}), note="error"))
    if (left_out := len(attempts) - MOST_ATTEMPTS) > 0:
        console.print(Text(f"{left_out} earlier attempts, not listed here: --json has them", style="dim"))
    if run.result is not None:
        console.print()
        console.print("result", style="bold")
        print(json.dumps(run.result, indent=2, ensure_ascii=False))


def _facts(run: RunDetails, related: Family) -> dict[str, Cell]:
    facts: dict[str, Cell] = {
        "run": str(run.id),
        "job": run.job,
        "status": state(run),
        "tick": None if run.tick is None else _with_local_time(run.tick, run.job),
        "key": run.run_key,
    }
    if run.partition is not None:
        facts["partition"] = run.partition
    facts |= {"trigger": run.trigger, "created": f"{second(run.created_at)} UTC"}
    if run.status == "pending":
        facts["due"] = f"{second(run.due_at)} UTC"
    if run.finished_at is not None:
        facts["finished"] = f"{second(run.finished_at)} UTC"
    if run.holder is not None:
        facts["holder"] = run.holder
    if run.waits_for_children:  # its lease is without end
        facts["until"] = "its children have ended"
    elif run.lease_until is not None:
        facts["lease until"] = f"{second(run.lease_until)} UTC"
    if run.cancel_reason is not None and run.status == "running":
        facts["asked to end"] = one_line(run.cancel_reason)
    if run.infra_failures:
        facts["lost or stopped"] = f"{run.infra_failures} times, which use up no attempt"
    if run.payload:
        facts["payload"] = json.dumps(run.payload, ensure_ascii=False)
    # What it had said last, while its own work went on, is not how far it is now.
    by_children = related.children and (run.waits_for_children or run.status != "running")
    if (progress := how_far(run.progress)) is not None and not by_children:
        facts["progress"] = progress
    facts["steps"] = str(run.steps)
    if run.error is not None:
        facts["error"] = one_line(run.error)
    return facts


def _of_family(related: Family) -> dict[str, Cell]:
    facts: dict[str, Cell] = {}
    if related.parent is not None:
        named = "" if related.parent_job is None else f" ({related.parent_job}@{related.parent_key})"
        facts["part of"] = f"run {related.parent}{named}"
    if related.children:
        failed = related.ended - related.succeeded
        facts["children"] = f"{related.ended} of {related.children} ended" + (f", {failed} not well" if failed else "")
    return facts


def _with_local_time(tick: datetime, job: str) -> str:
    zone = next((declared.schedule.zone for declared in SCHEDULE if declared.name == job), None)
    return minute(tick) if zone is None else f"{minute(tick)}, which is {wall(tick, zone)} in {zone}"


def _cells(attempt: AttemptDetails) -> list[Cell]:
    error = [] if attempt.error is None else [one_line(attempt.error)]
    log = [] if attempt.log_link is None else [f"log: {attempt.log_link}"]
    return [
        str(attempt.attempt),
        status_text(attempt.outcome or "running"),
        second(attempt.started_at),
        took(attempt.seconds),
        str(attempt.steps),
        attempt.compute,
        attempt.holder,
        "; ".join(error + log) or None,
    ]
