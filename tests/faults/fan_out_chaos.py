"""What goes wrong while children work: their processes are killed, and their messages come twice."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil
import psycopg

from handlers.queues.publish import Outgoing, Publisher
from handlers.schedule import SCHEDULE
from ops.local.aws.server import LocalAws

CHILD = "inventory-pull"
QUEUES = "https://sqs.us-east-1.amazonaws.com/000000000000/shiftlock-dev-"
WORKER = "worker_entry"
# Children that nobody has doubled yet, as their messages have them.
NEW = """
select id, run_key, payload, partition from shiftlock.job_runs
where job_name = %(job)s and id > %(after)s order by id limit 1000
"""
MOST_WORKERS = 4  # what the job's queue lets work at once
LOOK_EVERY = 0.5  # seconds


@dataclass(slots=True)
class Chaos:
    """Kills one of all workers every `kill_every` seconds (0: never), and sends the share `twice` of messages again."""

    aws: LocalAws
    dsn: str
    seed: int
    twice: float
    kill_every: float
    killed: int = 0
    doubled: int = 0
    most_memory: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    @property
    def told(self) -> str:
        """What has been done so far."""
        return (
            f"{self.killed} workers killed, {self.doubled} messages doubled, {self.most_memory / 2**30:.1f} GiB at most"
        )

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """While in the block. An error of its own ends the block's process with a trace, at the end of it."""
        threads = [threading.Thread(target=work) for work in (self._kill, self._double)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _kill(self) -> None:
        draw = random.Random(self.seed)  # noqa: S311 - a plan that can be played again
        while not self._over.wait(self.kill_every or LOOK_EVERY):
            descendants = _descendants(self.aws.pid)
            self.most_memory = max(self.most_memory, sum(_memory(process) for process in descendants))
            workers = [process for process in descendants if WORKER in _command(process)]
            # The last one of many would otherwise be killed before it can begin, again and again.
            if self.kill_every and draw.random() < len(workers) / MOST_WORKERS:
                with suppress(psutil.NoSuchProcess):
                    draw.choice(workers).kill()
                    self.killed += 1

    def _double(self) -> None:
        draw = random.Random(self.seed)  # noqa: S311 - as above
        publisher = Publisher(QUEUES, SCHEDULE, sqs=self.aws.client("sqs"))
        after = 0
        with psycopg.connect(self.dsn, autocommit=True) as ledger:
            while not self._over.wait(LOOK_EVERY):
                rows = ledger.execute(NEW, {"job": CHILD, "after": after}).fetchall()
                again = [
                    Outgoing(key, payload, partition)
                    for _, key, payload, partition in rows
                    if draw.random() < self.twice
                ]
                publisher.publish_all(CHILD, again)
                self.doubled += len(again)
                after = max((row[0] for row in rows), default=after)


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _command(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _memory(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0
