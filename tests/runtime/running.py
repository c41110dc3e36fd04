"""Run a sample job through the real runner against a test's database."""

import multiprocessing
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import cron
from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.runtime.identity import Delivery
from handlers.runtime.logs import LogObserver, open_log
from handlers.runtime.metrics import MetricsObserver
from handlers.runtime.observer import Observer
from handlers.runtime.report import Report
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop

# A worker of its own that a test may kill, without the time to start an interpreter.
FORK = multiprocessing.get_context("fork")
TICK = datetime(2026, 11, 29, 2, 0, tzinfo=UTC)
QUICK = Retry(attempts=3, base=timedelta(milliseconds=1), cap=timedelta(milliseconds=1))


def sample(function: str, **limits: Any) -> Job:
    """A daily job that calls a function of sample_jobs."""
    facts: dict[str, Any] = {"longest_run": timedelta(minutes=5), "retry": QUICK}
    return Job(
        "sample", target=f"tests.runtime.sample_jobs:{function}", schedule=cron("0 2 * * ? *"), **(facts | limits)
    )


def run(
    job: Job,
    url: str,
    *,
    at: datetime | None = TICK,
    trigger: Any = "rule",
    stop: Stop | None = None,
    seconds_left: float | None = None,
    lease: timedelta = timedelta(seconds=30),
    observers: Sequence[Observer] | None = None,
    partition: str | None = None,
    others: Sequence[Job] = (),
    queues: str | None = None,
    **facts: Any,
) -> Report:
    """The report of one delivery. others: the jobs that it may send to. queues: see `Settings`. facts: more of the
    delivery."""
    log = open_log()
    runner = Runner(
        settings=Settings("test", DatabaseUrl(url), lease, queues=queues),
        observers=(MetricsObserver("test"), LogObserver(log)) if observers is None else observers,
        log=log,
        stop=stop or Stop(),
        compute="test",
        ends_at=None if seconds_left is None else time.monotonic() + seconds_left,
        catalogue=Catalogue((job, *others)),
    )
    return runner.run(job, Delivery(trigger, at, partition=partition, **facts))
