"""Send what stands in the outbox: messages that were written in the transaction of the work that they are about."""

import time
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import psycopg
from aws_lambda_powertools.logging import Logger

from handlers.declaration.catalogue import Catalogue, UnknownJob
from handlers.declaration.duration import seconds
from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.guard.mail import Mail, due, forget, jobs_due, left, remove, take_line
from handlers.queues.address import NoQueue
from handlers.queues.fitting import MalformedMessage
from handlers.queues.message import of_run
from handlers.queues.publish import Publisher, letter
from handlers.queues.sending import LARGEST_BATCH, Delivered, Letter, Pace
from handlers.queues.trace import trace_here

PORTION = 500
# Seconds after which a portion begins no call to SQS: its transaction is open meanwhile.
LONGEST_PORTION = 3.0
TRIES = Retry(attempts=2, base=seconds(0.2), cap=seconds(1))


@dataclass(frozen=True, slots=True)
class Relayed:
    """What came of it. sent: messages. left: rows that are due and still there; oldest_age: seconds that the oldest of
    them has been due, 0 without one. troubles: by job, why a row of it is still there.
    """

    sent: int
    left: int
    oldest_age: float
    troubles: dict[str, str] = field(default_factory=dict)


def relay(
    connection: psycopg.Connection,
    publisher: Publisher,
    catalogue: Catalogue,
    *,
    to: Collection[str] | None = None,
    limit: int = 1000,
    ends_at: float | None = None,
) -> Relayed:
    """Send what is due, about `limit` rows at most, the jobs in turn; a row goes when SQS has its message.

    connection: in autocommit. publisher: its clients have short timeouts. to: the jobs that this process may send to;
    None: all. ends_at: on the monotonic clock, nothing is begun after it. Whoever is killed between the sending and the
    commit has sent for nothing: the next one sends again. Raises psycopg.Error; what SQS says is in the answer.
    """
    lines = [_Line(job) for job in jobs_due(connection) if to is None or job in to]
    waiting = deque(lines)
    room = limit
    while waiting and room > 0 and (ends_at is None or time.monotonic() < ends_at):
        line = waiting.popleft()
        until = time.monotonic() + LONGEST_PORTION
        pace = Pace(TRIES, until if ends_at is None else min(until, ends_at))
        room -= line.move(connection, publisher, catalogue, min(PORTION, room), pace)
        if line.more:
            waiting.append(line)
    count, age = left(connection)
    troubles = {line.job: line.trouble for line in lines if line.trouble}
    return Relayed(sum(line.sent for line in lines), count, age, troubles)


def log_relayed(log: Logger, relayed: Relayed) -> None:
    """Write what a person would look for: messages that cannot be sent."""
    for job, because in relayed.troubles.items():
        log.error("not relayed", extra={"job": job, "because": because, "left": relayed.left})


class _Line:
    """The rows of one job, portion by portion. more: whether another portion may find something to send."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.sent = 0
        self.more = False
        self.trouble: str | None = None
        self._kept: list[int] = []
        self._blocked: set[str] = set()

    def move(
        self, connection: psycopg.Connection, publisher: Publisher, catalogue: Catalogue, limit: int, pace: Pace
    ) -> int:
        """Send one portion in one transaction; how many rows were settled, sent or not."""
        self.more = False
        try:
            job = catalogue.find(self.job)
        except UnknownJob as error:
            self.trouble = f"{error}; put it back into the job table, or delete its rows from shiftlock.outbox"
            return 0
        kept = len(self._kept)
        with connection.transaction():
            if not take_line(connection, self.job):
                return 0  # another relay is at it
            rows = due(connection, self.job, kept=self._kept, blocked=list(self._blocked), limit=limit)
            letters = list(self._letters(job, rows))
            try:
                delivered = publisher.post(job, letters, pace) if letters else Delivered()
            except NoQueue as error:
                self.trouble = str(error)
                return 0
            idle = [row.id for row in rows if not row.pending]
            remove(connection, list(delivered.sent))
            forget(connection, idle)
        self.sent += len(delivered.sent)
        for row in rows:
            if refusal := delivered.refused.get(row.id):
                self._keep(job, row, refusal.reason)
        settled = len(delivered.sent) + len(idle) + len(self._kept) - kept
        self.more = settled > 0 and not any(refusal.whole for refusal in delivered.refused.values())
        return settled

    def _letters(self, job: Job, rows: list[Mail]) -> Iterator[Letter]:
        trace = trace_here()
        for row in rows:
            if not row.pending or (row.partition or "") in self._blocked:
                continue
            try:
                message = of_run(self.job, row.run_key, row.payload or {}, row.partition, trace=trace)
                body = message.to_json()
            except MalformedMessage as error:
                self._keep(job, row, str(error))
                continue
            if row.payload is None or len(body.encode()) > LARGEST_BATCH:
                self._keep(job, row, f"its payload is of {row.size:,} bytes: SQS takes {LARGEST_BATCH:,}")
                continue
            yield letter(job, message, body, number=row.id, sending=str(row.id))

    def _keep(self, job: Job, row: Mail, because: str) -> None:
        """Leave the row where it is, and in a FIFO queue all that is behind it in its partition."""
        self.trouble = f"run {row.run_key}: {because}"
        self._kept.append(row.id)
        if job.queue is not None and job.queue.fifo:
            self._blocked.add(row.partition or "")
