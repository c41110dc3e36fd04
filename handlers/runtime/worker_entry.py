"""A worker: `python -m handlers.runtime.worker_entry JOB` takes one message of the job's queue after the other.

It goes on until it is told to stop (SIGTERM, SIGINT), ends what it is at, and exits with 0. How many workers there are
is for others to say, and while there is no message they may be none.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from handlers.declaration.catalogue import UnknownJob
from handlers.declaration.queue_limits import WORKER_BEAT
from handlers.queues.address import NoQueue
from handlers.queues.clients import one_try
from handlers.runtime.consume import Consumer, open_consumer
from handlers.runtime.hold import Hold
from handlers.runtime.inbox import NoAnswer, Received
from handlers.runtime.report import EXIT_BAD_INPUT
from handlers.runtime.retry import full_jitter
from handlers.runtime.settings import InvalidSettings
from handlers.runtime.stop import Stop
from handlers.runtime.task_entry import runner_of
from handlers.schedule import SCHEDULE

# Seconds that SQS keeps a call waiting for a message: its most ("Short and long polling", Amazon SQS developer guide).
POLL = 20
# Seconds, as all here. A call may take longer than its poll.
CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = POLL + 10.0
LONGEST_PAUSE = 60.0


@dataclass(frozen=True, slots=True)
class Worker:
    """Takes messages until `stop`. poll: seconds that a call waits for one. beat: how often one is hidden anew."""

    consumer: Consumer
    stop: Stop
    poll: int = POLL
    beat: timedelta = WORKER_BEAT
    jitter: Callable[[], float] = full_jitter

    def work(self) -> None:
        """Work until told to stop."""
        in_vain = 0
        while not self.stop.is_set():
            if all(self._worked_on(received) for received in self._next()):
                in_vain = 0
            else:
                in_vain += 1
                self.stop.wait(pause(in_vain, self.jitter()))

    def _next(self) -> list[Received | None]:
        """The next message, if there is one; a None where the queue could not be asked."""
        try:
            return list(self.consumer.inbox.receive(self.poll))
        except NoAnswer as error:
            self.consumer.runner.log.warning("no message could be asked for", extra={"because": str(error)})
            return [None]

    def _worked_on(self, received: Received | None) -> bool:
        """Work on the message; False where it is as well to wait before the next."""
        if received is None:
            return False
        inbox = self.consumer.inbox
        if self.stop.is_set():  # it came while the call waited
            inbox.hide(received, timedelta())
            return True
        with self.consumer.speaking_of(received):
            with Hold(inbox, received, self.consumer.let_go, beat=self.beat) as hold:
                judged = self.consumer.judge(received)
            if hold.has_let_go:
                self.consumer.settle(received, judged.without_message())
            elif self.consumer.settle(received, judged) is None:
                inbox.delete(received)
        return not judged.ledger_out


def pause(in_vain: int, jitter: float) -> float:
    """Seconds to wait after so many tries in vain: longer each time, never nothing. jitter: 0 to 1."""
    return min(LONGEST_PAUSE, 2.0 ** min(in_vain - 1, 10)) * (0.5 + jitter / 2)


def main(arguments: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Work on the messages of the named job until told to stop, and return the exit code."""
    try:
        worker = open_worker(arguments, environ)
    except (InvalidSettings, UnknownJob, NoQueue) as error:
        print(f"worker_entry: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    worker.work()
    return 0


def open_worker(arguments: list[str], environ: Mapping[str, str]) -> Worker:
    """The worker that the arguments and the environment describe. Raises InvalidSettings, UnknownJob, NoQueue."""
    if len(arguments) != 1:
        raise UnknownJob(" ".join(arguments), tuple(job.name for job in SCHEDULE))
    job = SCHEDULE.find(arguments[0])
    runner = runner_of(environ, waits=False)
    return Worker(open_consumer(job, runner, _sqs), runner.stop)


def _sqs() -> Any:
    return one_try("sqs", connect=CONNECT_TIMEOUT, read=READ_TIMEOUT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
