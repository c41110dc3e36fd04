"""One message: the run that it rings for, what came of it, and what is done with the message then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.declaration.queue_limits import receives
from handlers.declaration.signals import Signal
from handlers.guard.errors import DatabaseUnavailable, GuardError, SchemaTooOld
from handlers.guard.once import Guard
from handlers.guard.outbox import NewRun
from handlers.guard.park import expect_message, park, refuse
from handlers.queues.address import NoQueue, dead_letters_url, queue_url
from handlers.queues.fitting import MalformedMessage
from handlers.queues.message import Message, read_message
from handlers.queues.verdict import Verdict, verdict
from handlers.runtime.database import connection_strings
from handlers.runtime.iam_token import NoCredentials
from handlers.runtime.identity import Delivery
from handlers.runtime.inbox import Inbox, Received
from handlers.runtime.judged import NO_TIME, Judged, in_its_place, longer_each_time
from handlers.runtime.metrics import count_message
from handlers.runtime.report import Result
from handlers.runtime.retry import full_jitter
from handlers.runtime.runner import Runner
from handlers.runtime.settings import InvalidSettings

# What the lines about a message say of it and of its run, and those about the next one must not.
KEYS = ("message_id", "job", "run_key", "run_id", "attempt", "tick")


@dataclass(frozen=True, slots=True)
class Consumer:
    """Works on the messages of one job, one at a time. queue: the job's. runner: one that waits for nothing."""

    job: Job
    queue: Queue
    runner: Runner
    inbox: Inbox
    jitter: Callable[[], float] = full_jitter

    @contextmanager
    def speaking_of(self, received: Received) -> Iterator[None]:
        """Have each log line name the message."""
        log = self.runner.log
        log.append_keys(message_id=received.id, job=self.job.name)
        try:
            yield
        finally:
            log.remove_keys(KEYS)

    def judge(self, received: Received, *, has_time: bool = True) -> Judged:
        """Run the message's run, if there is time for it, and say what is to become of the message.

        Raises nothing: one message must not keep others from being worked on.
        """
        try:
            return self._judge(received, has_time=has_time)
        except (DatabaseUnavailable, SchemaTooOld, NoCredentials) as error:
            self.runner.log.warning("the ledger cannot be asked", extra={"because": str(error)})
            return self.ledger_out(received, str(error))
        except Exception:  # one message must not take those behind it along
            # Nobody expected it, so nobody knows whether the ledger should have the run: after some more tries SQS
            # itself makes it a dead letter.
            self.runner.log.exception("the message could not be worked on")
            return Judged(self._later(received, "an error that nobody expected"), may_park=False)

    def ledger_out(self, received: Received, because: str) -> Judged:
        """What becomes of a message while the ledger does not answer."""
        count_message(self.runner.settings.environment, self.job.name, Signal.START_FAILED)
        return Judged(self._later(received, because), may_park=False, ledger_out=True)

    def _judge(self, received: Received, *, has_time: bool) -> Judged:
        try:
            message = read_message(received.body)
            if message.job != self.job.name:
                raise MalformedMessage(f"job is {message.job!r}: allowed is {self.job.name!r}, whose queue this is")
        except MalformedMessage as malformed:
            return Judged(Verdict("dead", str(malformed)))
        if not has_time:
            return Judged(NO_TIME, message)
        in_queue = datetime.now(UTC) - (received.sent_at or message.sent_at)
        report = self.runner.run(
            self.job,
            Delivery(
                "queue",
                None,
                payload=message.ledger_payload,
                partition=message.partition,
                key=message.key,
            ),
        )
        if report.attempt == 1:  # in the queue is where it is until somebody begins
            self._count(Signal.TIME_IN_QUEUE, max(0.0, in_queue.total_seconds()))
        because = f"{report.because}: {report.error}" if report.error else report.because
        said = verdict(
            report.result, status=report.status, retry_in=report.retry_in, because=because, jitter=self.jitter()
        )
        return Judged(said, message, report, ledger_out=report.result is Result.UNAVAILABLE)

    def settle(self, received: Received, judged: Judged) -> timedelta | None:
        """Do what was judged; how long the message is hidden, or None when it can be deleted."""
        wanted = judged.verdict
        if judged.may_park:
            fifo, most = self.queue.fifo, receives(self.job, self.queue)
            wanted = in_its_place(wanted, fifo=fifo, taken=received.receives, most=most)
        try:
            wanted = self._note(received, judged, wanted)
        except (GuardError, NoCredentials) as error:
            self.runner.log.warning("the ledger does not know of it", extra={"because": str(error)})
            if wanted.deed != "later":
                wanted = self._later(received, str(error))
        if wanted.deed != "later":
            return None
        self.inbox.hide(received, wanted.wait)
        return wanted.wait

    def let_go(self, received: Received) -> bool:
        """Leave the run that this message has started to the ledger alone; whether it has it now."""
        try:
            self._park(read_message(received.body))
        except (GuardError, NoCredentials) as error:
            self.runner.log.warning("the ledger does not know of it", extra={"because": str(error)})
            return False
        self.inbox.delete(received)
        return True

    def _note(self, received: Received, judged: Judged, wanted: Verdict) -> Verdict:
        """Tell the ledger and the dead letters; what is left to be done with the message."""
        message, name = judged.message, self.job.name
        match wanted.deed:
            case "later" if message is not None and judged.report is not None and not judged.ledger_out:
                key, wait, within = message.key, wanted.wait, self.job.start_within
                with self._guard() as guard:
                    guard.use(lambda connection: expect_message(connection, name, key, wait=wait, start_within=within))
            case "park" if message is not None:
                self._park(message)
                self.runner.log.info("left to the ledger", extra={"because": wanted.because})
            case "dead":
                run_id = judged.report.run_id if judged.report is not None else self._refuse(received, wanted.because)
                if not self.inbox.bury(received, reason=wanted.because, job=name, run_id=run_id):
                    return self._later(received, "no copy of it could be kept")
                self._count(Signal.DEAD_LETTER)
        return wanted

    def _refuse(self, received: Received, reason: str) -> int:
        with self._guard() as guard:
            run_id = guard.use(lambda connection: refuse(connection, self.job.name, received.id, reason))
        # Its reason quotes the message, and what is in messages is in no log.
        self.runner.log.error("malformed message: the ledger has the reason", extra={"run_id": run_id})
        return run_id

    def _park(self, message: Message) -> None:
        run = NewRun(message.key, message.ledger_payload, message.partition)
        with self._guard() as guard:
            guard.use(lambda connection: park(connection, self.job.name, run))

    def _guard(self) -> Guard:
        settings = self.runner.settings
        name = f"shiftlock {self.job.name} message"
        return Guard(connection_strings(settings.database), lease=settings.lease, name=name)

    def _later(self, received: Received, because: str) -> Verdict:
        return Verdict("later", because, longer_each_time(received.receives) * (0.5 + self.jitter() / 2))

    def _count(self, signal: Signal, value: float = 1) -> None:
        count_message(self.runner.settings.environment, self.job.name, signal, value)


def open_consumer(job: Job, runner: Runner, connect: Callable[[], Any], *, gives_up: bool = False) -> Consumer:
    """The consumer of the job's own queue. connect, gives_up: see `Inbox`. Raises InvalidSettings, NoQueue."""
    queues = runner.settings.queues
    if job.queue is None:
        raise NoQueue(f"{job.name} has no queue: give it queue=Queue(...) in the job table")
    if queues is None:
        raise InvalidSettings(("SHIFTLOCK_QUEUES is not set: allowed is what the URLs of the queues begin with",))
    urls = queue_url(queues, job), dead_letters_url(queues, job)
    return Consumer(job, job.queue, runner, Inbox(*urls, runner.log, connect, gives_up=gives_up))
