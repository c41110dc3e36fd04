"""What a run may reach beside the database: the jobs that it sends to, the bucket of files, large payloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.queue import Queue
from handlers.guard.outbox import NewRun
from handlers.queues.fitting import MalformedMessage
from handlers.queues.message import ELSEWHERE, of_run
from handlers.runtime.retry import Fatal

if TYPE_CHECKING:
    from handlers.files.bucket import Bucket


# A message may have 1 MiB ("Amazon SQS message quotas"). The ledger keeps each payload, and reads it with every claim.
LARGEST_PAYLOAD = 256 * 1024


class NotDeclared(LookupError):
    """A job uses what its entry in the table does not name; the deploy has not allowed it either."""


class NotConfigured(LookupError):
    """The environment has no such thing; the message names the setting that would say where it is."""


@dataclass(frozen=True, slots=True)
class Outlet:
    """The ways out of a run. queues, files: see `Settings`."""

    catalogue: Catalogue
    queues: str | None = None
    files: str | None = None

    def receiver(self, sender: str, job: str) -> Queue:
        """The queue of a job that another one sends to. Raises UnknownJob, NotDeclared."""
        queue = self.catalogue.find(job).queue
        if queue is None:
            raise NotDeclared(f"{job} has no queue: give it one in the job table, such as queue=Queue()")
        if any(declared.name == sender and job not in declared.sends for declared in self.catalogue):
            raise NotDeclared(f"{sender} does not say that it sends to {job}: add sends=({job!r},) to its entry")
        return queue

    def check(self, job: str, queue: Queue, run: NewRun) -> None:
        """See that a message for the run can be sent, before the ledger holds it. Raises MalformedMessage."""
        size = len(of_run(job, run.run_key, run.payload, run.partition, trace=None).to_json().encode())
        if size > LARGEST_PAYLOAD:
            raise MalformedMessage(
                f"the payload of {job} {run.run_key!r} makes a message of {size:,} bytes: allowed are "
                f"{LARGEST_PAYLOAD:,}; write it to the bucket or a table, and send where it is"
            )
        if queue.fifo and run.partition is None:
            raise MalformedMessage(f"{job} {run.run_key!r} has no partition: allowed is one, since the queue is FIFO")

    def message_lasts(self, queue: Queue) -> timedelta | None:
        """How long a message waits in the queue; None where no messages are sent, and the ledger is looked at."""
        return None if self.queues is None else queue.retention

    def bucket(self) -> Bucket:
        """The environment's bucket of files. Raises NotConfigured."""
        if self.files is None:
            raise NotConfigured("SHIFTLOCK_FILES is not set: it names the bucket that jobs read and write files in")
        # An AWS SDK takes a third of a second to import: only runs that read or write files pay for it.
        from handlers.files.bucket import open_bucket

        return open_bucket(self.files)

    def payload(self, job: str, stored: Mapping[str, Any]) -> Mapping[str, Any]:
        """The payload of a job's run, fetched where the ledger only says where it is.

        Raises NotConfigured, PayloadUnreadable, and Fatal where another try would find nothing else.
        """
        where = stored.get(ELSEWHERE)
        if where is None or len(stored) > 1:
            return stored
        if self.files is None:
            raise NotConfigured("SHIFTLOCK_FILES is not set: it names the bucket that large payloads are in")
        from handlers.queues.payloads import PayloadUnreadable, fetch

        try:
            return fetch(where, job=job, bucket=self.files)
        except PayloadUnreadable as error:
            if error.passing:
                raise
            raise Fatal(str(error)) from error


NO_OUTLET = Outlet(Catalogue(()))
