"""`jobs runs`: the newest runs in the ledger."""

from dataclasses import asdict

from rich.text import Text

from ops.as_json import print_json
from ops.configured import needed
from ops.ledger import Run, newest_runs, planned_runs
from ops.names import known_job
from ops.reading import reading
from ops.run_cells import state, took
from ops.table import Cell, Table, open_console
from ops.wording import minute, one_line, second

TITLES = ("id", "job", "run", "trigger", "status", "attempts", "started (UTC)", "took", "error")
FOLDS = (("trigger", "job"), ("started (UTC)", "run"), ("took", "attempts"))
LONGEST_ERROR = 160


def list_runs(job: str | None, *, last: int, status: str | None, as_json: bool) -> None:
    """Print the `last` newest runs; without a status none that is merely planned.

    Raises UnknownJob, Refused, and what reading the ledger raises.
    """
    with reading(needed()) as ledger:
        if job is not None:
            known_job(job, ledger)
        found = newest_runs(ledger, job=job, status=status, last=last)
        planned = 0 if status is not None else planned_runs(ledger, job=job)
    if as_json:
        print_json([asdict(run) for run in found])
    elif found:
        table = Table(TITLES, [_cells(run) for run in found], folds=FOLDS, right=frozenset({"id"}), note="error")
        open_console().print(table)
    else:
        print(f"no {status + ' ' if status else ''}runs{' of ' + job if job else ''} in the ledger")
    if planned and not as_json:
        asked = f"`jobs runs {job + ' ' if job else ''}--status pending`"
        open_console().print(Text(f"{planned} planned ahead, not listed here: {asked} has them", style="dim"))


def _cells(run: Run) -> list[Cell]:
    started = f"due {second(run.due_at)}" if run.started_at is None else second(run.started_at)
    return [
        str(run.id),
        run.job if run.partition is None else f"{run.job}/{run.partition}",
        minute(run.tick) if run.tick is not None else run.run_key if run.trigger == "queue" else None,
        run.trigger,
        state(run),
        str(run.attempts),
        started,
        took(run.seconds),
        run.error and one_line(run.error, LONGEST_ERROR),
    ]
