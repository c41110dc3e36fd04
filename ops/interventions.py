"""What `jobs cancel`, `jobs resolve` and `jobs retry` have in common."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from handlers.guard.intervene import CannotIntervene
from handlers.schedule import SCHEDULE
from ops.configured import needed
from ops.ledger import RunDetails
from ops.names import known_run
from ops.reading import changing
from ops.refused import Refused
from ops.wording import minute

# What a person can do to a run instead, by its status.
INSTEAD = {
    "pending": "`jobs cancel {id}` ends it before it starts",
    "running": "`jobs cancel {id}` asks it to end",
    "succeeded": "what has succeeded stays so",
    "failed": "`jobs retry {id}` has it tried again",
    "unknown": "`jobs resolve {id}` says what became of it",
    "skipped": "`jobs retry {id}` has it run after all",
    "cancelled": "`jobs retry {id}` has it run after all",
}


@contextmanager
def intervening(name: str) -> Iterator[tuple[psycopg.Connection, int]]:
    """Yield the ledger and the id of the run of an id or JOB@TICK, to be changed.

    Raises Refused, also for CannotIntervene in the block, with what can be done instead; UnknownJob; and what opening
    the ledger raises.
    """
    with changing(needed()) as ledger:
        run_id = known_run(name, ledger)
        try:
            yield ledger, run_id
        except CannotIntervene as no:
            instead = INSTEAD.get(no.status or "", "`jobs runs` lists the newest")
            raise Refused(f"{no}; {instead.format(id=run_id)}") from no


def named(run: RunDetails) -> str:
    """The run by its id and by JOB@KEY, each of which names it on the command line."""
    return f"run {run.id} ({run.job}@{run.run_key})"


def how_it_starts(run: RunDetails) -> str:
    """What starts a run that is due again: a pass of the watchdog or of a clock, or a person."""
    delivered = "it starts with the next pass of the watchdog, or of a clock"
    job = next((declared for declared in SCHEDULE if declared.name == run.job), None)
    if job is None:
        return f"{delivered}, once {run.job} is in the schedule again"
    part = "" if run.partition is None else f"/{run.partition}"
    # `jobs run` takes ticks of the schedule as it is now, and no payload.
    if (
        run.tick is None
        or run.run_key != minute(run.tick) + part
        or run.payload
        or job.schedule.previous(run.tick) != run.tick
    ):
        return delivered
    option = f" --partition {run.partition}" if part else ""
    return f"{delivered}, or now with `jobs run {run.job} --tick {minute(run.tick)}{option}`"
