"""Every way a start of a job can go, in one process: `python -m tests.runtime.every_path <database URL>`.

Each way is a job of its own name, so that the lines of the process can be told apart by job.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import psycopg

from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.declaration.signals import Signal
from handlers.guard.children import Settled, Waiting
from handlers.guard.lock import register
from handlers.runtime.context import Context
from handlers.runtime.logs import LogObserver, open_log
from handlers.runtime.metrics import (
    MetricsObserver,
    count_loss,
    count_message,
    count_outbox,
    count_parents,
    count_pass,
    count_watch,
)
from handlers.runtime.observer import Beat, RunEvent, RunFacts, Started
from handlers.runtime.stop import Stop
from tests.guard.holders import claimed, guard_on, request
from tests.guard.outage import begin_outage
from tests.runtime.running import TICK, run, sample

ONCE = Retry(attempts=1)
SHOUTS = 1000
LATER = Retry(attempts=2, base=timedelta(hours=1), cap=timedelta(hours=1))
END_LEASE = "update shiftlock.job_runs set lease_until = clock_timestamp() where status = 'running'"


def named(name: str, function: str, **limits: Any) -> Job:
    """A sample job under the name of the way it goes."""
    return replace(sample(function, retry=ONCE, **limits), name=name)


def log_and_succeed(context: Context) -> None:
    """Say something of the job's own."""
    context.log.info("half way", extra={"colour": "blue"})


def lose_the_database(context: Context) -> None:
    """End every connection and let no new one in."""
    begin_outage(context.connection.info.dsn)


def succeed_then_again(url: str) -> None:
    """Two deliveries of one tick."""
    run(named("succeeded", "succeed"), url)
    run(named("succeeded", "succeed"), url)


def own_words(url: str) -> None:
    """A job that logs."""
    run(replace(named("own-words", "succeed"), target=f"{__name__}:log_and_succeed"), url)


def fail(url: str) -> None:
    """No attempt left."""
    run(named("failed", "fail"), url)


def fail_until_later(url: str) -> None:
    """A retry that is left to the ledger, and a delivery before its time."""
    job = replace(named("retried", "fail"), retry=LATER)
    with patch("handlers.runtime.attempt.full_jitter", return_value=1.0):  # else it may be short enough to wait for
        run(job, url)
    run(job, url)


def time_out(url: str) -> None:
    """Past the deadline."""
    run(named("timed-out", "sleep_in_python"), url, seconds_left=0.3)


def time_out_on_hold(url: str) -> None:
    """Past the deadline of a job that a person must look after, and another delivery."""
    job = named("held", "sleep_in_python", on_lost="hold")
    run(job, url, seconds_left=0.3)
    run(job, url)


def stop(url: str) -> None:
    """Told to stop."""
    asked = Stop()
    asked.request()
    run(named("interrupted", "wait_until_told_to_stop"), url, stop=asked)


def busy(url: str) -> None:
    """The same run, then another of the job, while a holder works."""
    with guard_on(url) as holder:
        claimed(holder, request(job="busy"))
        run(named("busy", "succeed"), url)
        run(named("busy", "succeed"), url, at=TICK + timedelta(days=1))


def paused(url: str) -> None:
    """Paused by a person."""
    with psycopg.connect(url, autocommit=True) as connection:
        register(connection, ["paused"])
        connection.execute("update shiftlock.jobs set paused_at = now() where name = 'paused'")
    run(named("paused", "succeed"), url)


def exhausted(url: str) -> None:
    """Lost once too often."""
    for _ in range(6):
        with guard_on(url) as holder, psycopg.connect(url, autocommit=True) as connection:
            claimed(holder, request(job="exhausted"))
            connection.execute(END_LEASE)
    run(named("exhausted", "succeed"), url)


def fenced(url: str) -> None:
    """Taken over in the middle of a step."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table effect (name text not null, attempt integer not null)")
    run(named("fenced", "be_taken_over_within_a_step"), url)


def unrecorded(url: str) -> None:
    """No database to record the end in."""
    run(replace(named("unrecorded", "succeed"), target=f"{__name__}:lose_the_database"), url)


def all_at_once(url: str) -> None:
    """Two heartbeats at once, written as fast as can be by threads that are switched as often as can be."""
    facts = RunFacts("shouting", "2026-11-29T02:00Z", TICK, "rule", 1, 1)
    observers = (MetricsObserver("test"), LogObserver(open_log()))

    def tell(event: RunEvent) -> None:
        for observer in observers:
            observer(event)

    def shout() -> None:
        for done in range(SHOUTS):
            tell(Beat(facts, done, SHOUTS))

    tell(Started(facts, 0.0))
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with ThreadPoolExecutor(2) as pool:
        for shouting in [pool.submit(shout) for _ in range(2)]:
            shouting.result()
    sys.setswitchinterval(usual)


def pass_of_a_clock(url: str) -> None:
    """What the scheduler of our own says of itself."""
    count_pass("test")


def pass_of_the_watchdog(url: str) -> None:
    """What it says of itself, of a job that is late, and of runs whose processes are gone."""
    count_watch("test", late={"waiting": 7.0}, lost=[("lost", "pending"), ("lost-for-good", "failed")])
    count_loss("test", "never-started", Signal.START_FAILED, "pending")
    count_outbox("test", 3.0)
    count_parents("test", [Settled(1, "parent", "key", "succeeded")], [Waiting("parent-at-work", 2, 3)])


def messages(url: str) -> None:
    """What consumers say of a message that has waited, and of one that nobody can work on."""
    count_message("test", "by-message", Signal.TIME_IN_QUEUE, 4.0)
    count_message("test", "by-message", Signal.DEAD_LETTER)


WAYS: tuple[Callable[[str], None], ...] = (
    succeed_then_again,
    own_words,
    fail,
    fail_until_later,
    time_out,
    time_out_on_hold,
    stop,
    busy,
    paused,
    exhausted,
    fenced,
    all_at_once,
    unrecorded,
    pass_of_a_clock,
    pass_of_the_watchdog,
    messages,
)

if __name__ == "__main__":
    for way in WAYS:
        way(sys.argv[1])
