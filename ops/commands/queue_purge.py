"""`jobs queue purge`: empty a queue, and end the runs that its messages would have rung for."""

import sys

import psycopg

from handlers.declaration.job import Job
from handlers.guard.children import settle
from ops.commands.queue_show import counts
from ops.queue_place import QueuePlace, asking_aws, job_with_queue, queue_place
from ops.reading import changing
from ops.refused import Refused

REASON = "its queue was emptied with `jobs queue purge`"

# Else the watchdog would ring for them again.
CANCEL_WAITING = """
update shiftlock.job_runs set
    status = 'cancelled', finished_at = clock_timestamp(), cancel_reason = %(reason)s, error_msg = %(reason)s,
    message_until = null
where job_name = %(job)s and trigger = 'queue' and status = 'pending'
returning parent_id
"""


def purge(name: str, *, dead: bool, yes: bool, environment: str | None) -> None:
    """Delete all messages of a job, or its dead letters, and print how many that were. Raises UnknownJob, Refused, and
    what opening the ledger raises."""
    job, place = job_with_queue(name), queue_place(environment)
    with asking_aws():
        waiting, in_flight, delayed = counts(place, job, dead=dead)
        what = f"{waiting + in_flight + delayed} {'dead letters' if dead else 'messages'} of {name}"
        if not yes:
            _confirm(name, f"about {what} in {place.environment.name}")
        if dead:
            _empty(place, job, dead=True)
            print(f"about {what} are deleted; their runs stay failed, and `jobs retry RUN` has one tried again")
            return
        with changing(place.ledger()) as ledger:
            cancelled = _cancel_waiting(ledger, job)
        _empty(place, job)
    on = f"; {in_flight} of them were being worked on, and those runs go on" if in_flight else ""
    print(f"about {what} are deleted{on}; {cancelled} runs that waited are cancelled")


def _confirm(name: str, what: str) -> None:
    """Have the name typed. Raises Refused for anything else."""
    print(f"{what} will be deleted, and nobody can bring them back: type {name} to go on: ", end="", file=sys.stderr)
    sys.stderr.flush()
    if sys.stdin.readline().strip() != name:
        raise Refused("nothing is deleted: allowed is the job's name, or --yes")


def _cancel_waiting(ledger: psycopg.Connection, job: Job) -> int:
    """End the runs that wait for a message, and the parents that had waited for the last of them; how many runs."""
    parents = [parent for (parent,) in ledger.execute(CANCEL_WAITING, {"job": job.name, "reason": REASON})]
    for parent in sorted({parent for parent in parents if parent is not None}):
        settle(ledger, parent, failed=True)
    return len(parents)


def _empty(place: QueuePlace, job: Job, *, dead: bool = False) -> None:
    place.client("sqs").purge_queue(QueueUrl=place.url(job, dead=dead))
