"""A dead letter is sent anew, and its run may be tried again: in an order in which a crash loses neither."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import psycopg

from handlers.declaration.job import Job
from handlers.guard.intervene import retry
from handlers.guard.park import expect_message
from handlers.queues.fitting import MalformedMessage
from handlers.queues.message import Message, group_of, sending_id
from ops.interventions import INSTEAD
from ops.letters import Letter

RUN_OF = "select id, status from shiftlock.job_runs where job_name = %(job)s and run_key = %(key)s"

# retry     its run has failed, and is due again first
# send      its run waits for a message, or there is none yet
# leave     the letter stays where it is
Deed = Literal["retry", "send", "leave"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done with a dead letter, and why. message: None for one that says no run."""

    deed: Deed
    because: str
    run_id: int | None = None
    message: Message | None = None


def plan(ledger: psycopg.Connection, job: Job, letter: Letter) -> Plan:
    """What becomes of the letter, by what the ledger says of its run."""
    try:
        message = letter.read()
        if message.job != job.name:
            raise MalformedMessage(f"job is {message.job!r}: allowed is {job.name!r}, whose queue this is")
    except MalformedMessage as error:
        return Plan("leave", str(error))
    row = ledger.execute(RUN_OF, {"job": job.name, "key": message.key}).fetchone()
    if row is None:
        return Plan("send", "the ledger has no run of it", message=message)
    run_id, status = row
    if status == "failed":
        return Plan("retry", f"run {run_id} has failed", run_id, message)
    if status == "pending":
        return Plan("send", f"run {run_id} is due already", run_id, message)
    return Plan("leave", f"run {run_id} is {status}: {INSTEAD[status].format(id=run_id)}", run_id, message)


def carry_out(
    ledger: psycopg.Connection, sqs: Any, job: Job, letter: Letter, planned: Plan, urls: tuple[str, str]
) -> None:
    """Make the run due, send a new message, delete the letter. urls: of the queue and of its dead letters.

    Whatever comes in between, the letter is there until its message is, and to do it again does no harm: a FIFO queue
    drops a second message for the same letter, and a run of that key is there once. Raises CannotIntervene when the
    run has become another's business, and botocore's errors.
    """
    message = planned.message
    if message is None or planned.deed == "leave":
        raise ValueError(f"letter {letter.id} is to be left where it is")
    if planned.deed == "retry" and planned.run_id is not None:
        retry(ledger, planned.run_id)
    queue, dead_letters = urls
    fifo = job.queue is not None and job.queue.fifo
    ordered = {"MessageGroupId": group_of(message), "MessageDeduplicationId": sending_id(message.key, letter.id)}
    sqs.send_message(QueueUrl=queue, MessageBody=letter.body, **(ordered if fifo else {}))
    # Else the watchdog rings for a run that has its message.
    expect_message(ledger, job.name, message.key, wait=timedelta(), start_within=job.start_within)
    sqs.delete_message(QueueUrl=dead_letters, ReceiptHandle=letter.receipt)
