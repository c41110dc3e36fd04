"""The watchdog and the runs of messages: it rings for those without one, and tells of those that failed."""

from datetime import timedelta

import psycopg

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import cron
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.guard.intervene import pause, resume, retry
from handlers.guard.lock import register
from handlers.guard.outbox import NewRun, enqueue
from handlers.guard.request import Ending
from handlers.runtime.watch import watch
from tests.guard.holders import ask, claimed, guard_on, request

TARGET = "tests.runtime.sample_jobs:succeed"
NIGHTLY = Job("nightly", target=TARGET, schedule=cron("0 2 * * ? *"), longest_run=minutes(30))
RESIZE = Job("resize", target=TARGET, queue=Queue(), longest_run=minutes(1))
WITH_QUEUE = declare(NIGHTLY, RESIZE)


def queued(database: psycopg.Connection, *, message: bool) -> int:
    """The id of a run of a message, which is on its way or not."""
    register(database, ["resize", "nightly"])
    lasts = timedelta(days=4) if message else None
    enqueue(database, "resize", [NewRun("a")], sender=0, message_lasts=lasts)
    return int(str(ask(database, "select id from shiftlock.job_runs where run_key = 'a'")))


def test_a_run_whose_message_is_on_its_way_is_left_to_it_and_is_not_late(database: psycopg.Connection) -> None:
    queued(database, message=True)
    found = watch(database, WITH_QUEUE, environment="test", queues=True)
    assert (found.rung, found.starts, found.late["resize"]) == (frozenset(), (), 0.0)


def test_a_run_without_a_message_is_rung_for_once_and_not_started_beside_its_queue(
    database: psycopg.Connection,
) -> None:
    run = queued(database, message=False)
    found = watch(database, WITH_QUEUE, environment="test", queues=True)
    assert (found.rung, found.starts) == (frozenset({run}), ())
    assert ask(database, "select run_id from shiftlock.outbox") == run
    assert watch(database, WITH_QUEUE, environment="test", queues=True).rung == frozenset()


def test_a_paused_job_is_rung_for_when_it_goes_on(database: psycopg.Connection) -> None:
    run = queued(database, message=False)
    pause(database, "resize")
    assert watch(database, WITH_QUEUE, environment="test", queues=True).rung == frozenset()
    resume(database, "resize")
    assert watch(database, WITH_QUEUE, environment="test", queues=True).rung == frozenset({run})


def test_where_there_are_no_queues_the_run_itself_is_started(database: psycopg.Connection) -> None:
    run = queued(database, message=False)
    found = watch(database, WITH_QUEUE, environment="test")
    assert ([order.run for order in found.starts], found.rung) == ([run], frozenset())


def test_a_lost_run_of_a_message_is_rung_for_again(database: psycopg.Connection, database_url: str) -> None:
    run = queued(database, message=True)
    with guard_on(database_url) as guard:
        claimed(guard, request("a", job="resize", tick=None, trigger="queue"))
    database.execute(
        "update shiftlock.job_runs set lease_until = clock_timestamp() - interval '1 s' where id = %s", [run]
    )
    assert watch(database, WITH_QUEUE, environment="test", queues=True).rung == frozenset({run})


def failed_for_good(database: psycopg.Connection, url: str, *, parent: int | None = None) -> int:
    """The id of a message's run that has failed and that no failed process speaks of."""
    run_id = queued(database, message=True)
    database.execute("update shiftlock.job_runs set parent_id = %s where id = %s", [parent, run_id])
    with guard_on(url) as guard:
        taken = claimed(guard, request("a", job="resize", tick=None, trigger="queue"))
        guard.finish(taken, Ending(outcome="failed", status="failed", error="Fatal: no image"))
    return run_id


def test_a_message_that_failed_for_good_is_told_of_once(database: psycopg.Connection, database_url: str) -> None:
    run_id = failed_for_good(database, database_url)
    [told] = watch(database, WITH_QUEUE, environment="test", queues=True).tell
    assert (told["job"], told["run"], told["status"], told["error"]) == ("resize", run_id, "failed", "Fatal: no image")
    assert watch(database, WITH_QUEUE, environment="test", queues=True).tell == ()


def test_of_a_failed_child_its_parent_tells(database: psycopg.Connection, database_url: str) -> None:
    with guard_on(database_url) as guard:
        parent = claimed(guard, request())
        failed_for_good(database, database_url, parent=parent.run_id)
        guard.finish(parent, Ending(outcome="succeeded", status="running", may_fail=0.0))
    seen = watch(database, WITH_QUEUE, environment="test", queues=True)
    assert [(told["job"], told["error"]) for told in seen.tell] == [("nightly", "1 of 1 children have not succeeded")]


def test_what_a_person_tries_again_before_it_is_told_is_not_told(
    database: psycopg.Connection, database_url: str
) -> None:
    retry(database, failed_for_good(database, database_url))
    assert watch(database, WITH_QUEUE, environment="test", queues=True).tell == ()
