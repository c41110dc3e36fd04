"""What the ledger shows while everything runs: a live table on a terminal, a line per change elsewhere."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
from rich.console import Group
from rich.live import Live
from rich.text import Text

from handlers.schedule import SCHEDULE
from ops.local.queues import Queues
from ops.local.settled import judge, standings
from ops.run_cells import how_far, state, took
from ops.table import Cell, Table, open_console
from ops.wording import one_line

SECONDS_BETWEEN_LOOKS = 0.5  # as often as a person looks; a ledger on AWS would not tell of its changes either
# Jobs that have not succeeded by then (seconds) will hardly do so by themselves.
SECONDS_TO_SETTLE = 600.0

# Of a run's children only those that have not gone well: there may be thousands, and the run says how many are done.
RECENT = """
select run.id, run.job_name, run.run_key, run.status, run.skip_reason, run.waiting, run.cancel_reason, run.attempt,
       attempt.compute,
       extract(epoch from coalesce(attempt.ended_at, clock_timestamp()) - attempt.started_at)::float8 as seconds,
       run.error_msg,
       case when run.may_fail is null then run.progress else (
           select jsonb_build_object(
               'done', count(*) filter (where status not in ('pending', 'running', 'unknown')), 'total', count(*)
           ) from shiftlock.job_runs where parent_id = run.id
       ) end as progress
from shiftlock.job_runs run
left join shiftlock.job_attempts attempt on attempt.run_id = run.id and attempt.attempt = run.attempt
where (run.attempt > 0 or run.status <> 'pending')
  and (run.parent_id is null or run.status in ('failed', 'unknown'))
order by coalesce(run.last_run, run.created_at) desc
limit 12
"""

TITLES = ("id", "job", "run", "status", "attempt", "on", "took", "note")
FOLDS = (("on", "job"), ("took", "attempt"))
NUMBERS = frozenset({"id", "attempt", "took"})


class Stuck(Exception):
    """Not every job will succeed; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run as the table shows it; seconds are those of its newest attempt."""

    id: int
    job: str
    run_key: str
    status: str
    skip_reason: str | None
    waiting: bool
    cancel_reason: str | None
    attempt: int
    compute: str | None
    seconds: float | None
    error: str | None
    progress: dict[str, int | None] | None


def watch(ledger: psycopg.Connection, queues: Queues) -> None:
    """Show the newest runs, the queues and the coming ticks until the process is told to end."""
    for _ in _shown(ledger, queues):
        pass


def watch_until_settled(ledger: psycopg.Connection, queues: Queues) -> None:
    """Show the same until every job has succeeded once. Raises Stuck when one has failed or takes too long."""
    jobs = [job.name for job in SCHEDULE]
    deadline = time.monotonic() + SECONDS_TO_SETTLE
    because = "nothing was seen"
    for _ in _shown(ledger, queues):
        verdict = judge(jobs, standings(ledger))
        because = verdict.because
        if verdict.state == "settled":
            break
        if verdict.state == "stuck":
            raise Stuck(f"{because}; see `jobs runs`")
        if time.monotonic() > deadline:
            raise Stuck(f"{because} after {SECONDS_TO_SETTLE:.0f} s; see `jobs runs` and the logs")
    print(f"settled: {because}")


def _shown(ledger: psycopg.Connection, queues: Queues) -> Iterator[None]:
    """Show what there is, then give the caller a turn, again and again."""
    console = open_console()
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(_table(_recent(ledger), queues.line()), refresh=True)
                yield
                time.sleep(SECONDS_BETWEEN_LOOKS)  # as often as a person reads
    said: set[tuple[int, str, int]] = set()
    while True:
        for row in reversed(_recent(ledger)):
            if (now := (row.id, row.status, row.attempt)) not in said:
                said.add(now)
                sys.stdout.write(_line(row) + "\n")
        sys.stdout.flush()
        yield
        time.sleep(SECONDS_BETWEEN_LOOKS)  # the ledger is read as any reader reads it, which nothing tells of a change


def _recent(ledger: psycopg.Connection) -> list[Row]:
    return [Row(*row) for row in ledger.execute(RECENT)]


def _line(row: Row) -> str:
    end = " ".join(filter(None, (f"{state(row)}, attempt {row.attempt}", took(row.seconds))))
    return f"  run {row.id}  {row.job} {row.run_key}  {end}  {one_line(row.error or '')}".rstrip()


def _table(rows: list[Row], queues: str) -> Group:
    now = datetime.now(UTC)
    table = Table(TITLES, [_cells(row) for row in rows], folds=FOLDS, right=NUMBERS, note="note")
    below = [Text(line, style="dim italic") for line in (queues, _coming(now))]
    return Group(Text(f"runs at {now:%H:%M:%S} UTC", style="italic"), table, *below)


def _cells(row: Row) -> list[Cell]:
    return [
        str(row.id),
        row.job,
        row.run_key,
        state(row),
        str(row.attempt),
        None if row.compute is None else row.compute.partition(":")[0],
        took(row.seconds),
        one_line(row.error) if row.error else how_far(row.progress) if row.status == "running" else None,
    ]


def _coming(now: datetime) -> str:
    ticks = sorted((tick, job.name) for job in SCHEDULE if (tick := job.schedule.next(now)) is not None)
    return "next: " + ", ".join(f"{name} {tick:%H:%M}" for tick, name in ticks) + " UTC.  Ctrl-C stops everything."
