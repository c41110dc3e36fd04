"""What the end of a run sets off: its parent's end, the next run of its partition, the messages that it has written.

Each of it would be done by the watchdog within a minute: that it fails here is no failure of the run.
"""

import time
from dataclasses import dataclass

from aws_lambda_powertools.logging import Logger

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.job import Job
from handlers.guard.answers import Claimed
from handlers.guard.children import Settled, settle
from handlers.guard.errors import DatabaseUnavailable
from handlers.guard.once import Guard
from handlers.guard.ring import ring_next
from handlers.runtime.context import Context
from handlers.runtime.metrics import count_settled
from handlers.runtime.report import Report
from handlers.runtime.settings import Settings

# A child in one of these goes on, or waits for somebody.
OPEN = ("pending", "running", "unknown", None)
# How long (seconds) a run's own process sends messages; the watchdog sends the rest.
LONGEST_RELAY = 20.0
MOST_SENT = 10_000


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Follows runs up over the guard's session, which must not have a run at the time.

    ends_at: when the process must be done, on the monotonic clock; None when it has no end of its own.
    """

    guard: Guard
    settings: Settings
    catalogue: Catalogue
    log: Logger
    ends_at: float | None

    def after(self, job: Job, claimed: Claimed, context: Context, report: Report) -> None:
        """Do what is due after this attempt. Raises nothing."""
        try:
            self._settle(claimed, report)
            rung = self._ring_next(job, claimed, report)
            if self.settings.queues is not None and (context.has_sent or rung):
                self._relay(job, self.settings.queues)
        except DatabaseUnavailable as error:
            self.log.warning("left to the watchdog", extra={"because": str(error), "run_id": claimed.run_id})
        except Exception:  # whatever it is, the attempt is over, and how it ended is in the ledger
            self.log.exception("left to the watchdog", extra={"run_id": claimed.run_id})

    def _settle(self, claimed: Claimed, report: Report) -> None:
        settled: list[Settled] = []
        if report.status == "running":  # all its children may have ended before it has
            settled += self.guard.use(lambda connection: settle(connection, claimed.run_id, failed=True))
        elif claimed.parent_id is not None and report.status not in OPEN:
            parent, failed = claimed.parent_id, report.status != "succeeded"
            settled += self.guard.use(lambda connection: settle(connection, parent, failed=failed))
        for one in settled:
            self.log.info("ended with its children", extra={"job": one.job, "run_key": one.run_key, "is": one.status})
            count_settled(self.settings.environment, one.job, one.status)

    def _ring_next(self, job: Job, claimed: Claimed, report: Report) -> bool:
        """Ring for the run that has been waiting for the partition which is free now."""
        if job.queue is None or claimed.tick is not None or report.status == "pending":
            return False
        lasts = {job.name: job.queue.retention}
        return self.settings.queues is not None and bool(
            self.guard.use(lambda connection: ring_next(connection, claimed.lock_key, lasts))
        )

    def _relay(self, job: Job, queues: str) -> None:
        # An AWS SDK takes a third of a second to import: only runs that send pay for it.
        from handlers.queues.publish import Publisher
        from handlers.runtime.relay import log_relayed, relay

        publisher, ends_at = Publisher(queues, self.catalogue), time.monotonic() + LONGEST_RELAY
        if self.ends_at is not None:
            ends_at = min(ends_at, self.ends_at)
        to = {job.name, *job.sends}  # its role may send to no other queue
        log_relayed(
            self.log,
            self.guard.use(
                lambda connection: relay(connection, publisher, self.catalogue, to=to, limit=MOST_SENT, ends_at=ends_at)
            ),
        )
