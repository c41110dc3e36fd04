"""The heartbeat: it keeps the run, outlives its connection, and says when the run is lost."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from queue import Queue
from threading import Condition
from typing import Any

import psycopg
import pytest

from handlers.guard.answers import Claimed
from handlers.guard.errors import DatabaseUnavailable
from handlers.guard.lease import Lease
from handlers.guard.once import Guard
from handlers.guard.request import Ending
from tests.guard.holders import ask, claimed, guard_on, request
from tests.guard.outage import begin_outage, end_outage

LEASE = timedelta(seconds=1.8)  # a beat may be 1.2 s late on a busy machine
LONG = 60.0  # seconds; far more than any of this takes
END_GUARD = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where application_name = 'test guard' and datname = current_database()
"""
TAKE_OVER = "update shiftlock.job_runs set fence = nextval('shiftlock.fence')"
LEFT = "select extract(epoch from lease_until - clock_timestamp())::float8 from shiftlock.job_runs"
LOCK_HOLDER = "select pid from pg_locks where locktype = 'advisory' and granted"
BACKEND = "select backend_pid from shiftlock.job_runs"


@dataclass(slots=True)
class Watched:
    """A lease and what it says: how often it beat, and why it was lost."""

    guard: Guard
    run: Claimed
    lost: Queue[str] = field(default_factory=Queue)
    cancelled: Queue[str] = field(default_factory=Queue)
    beats: int = 0
    done: int = 0
    changed: Condition = field(default_factory=Condition)

    def beat(self) -> None:
        with self.changed:
            self.beats += 1
            self.changed.notify_all()

    def wait_for_beats(self, more: int) -> None:
        with self.changed:
            wanted = self.beats + more
            assert self.changed.wait_for(lambda: self.beats >= wanted, LONG), self.lost

    def progress(self) -> dict[str, Any]:
        return {"done": self.done}

    def lease(self) -> Lease:
        return Lease(
            self.guard,
            self.run,
            progress=self.progress,
            on_beat=self.beat,
            on_lost=self.lost.put,
            on_cancel=self.cancelled.put,
        )


@contextmanager
def watched(url: str, lease: timedelta = LEASE) -> Iterator[Watched]:
    with guard_on(url, lease=lease) as guard:
        yield Watched(guard, claimed(guard, request(lease=lease)))


def test_it_beats_at_once_and_not_first_after_a_third_of_the_lease(database_url: str) -> None:
    with watched(database_url, timedelta(hours=1)) as watch, watch.lease(), watch.changed:
        assert watch.changed.wait_for(lambda: watch.beats == 1, LONG)


def test_it_renews_before_the_lease_ends_for_as_long_as_the_job_takes(
    database_url: str, database: psycopg.Connection
) -> None:
    with watched(database_url) as watch, watch.lease():
        for _ in range(5):
            watch.wait_for_beats(1)
            assert 0 < float(str(ask(database, LEFT))) <= LEASE.total_seconds()
    assert watch.lost.empty()


def test_each_beat_stores_the_progress_of_the_job(database_url: str, database: psycopg.Connection) -> None:
    with watched(database_url) as watch, watch.lease():
        watch.done = 7
        watch.wait_for_beats(2)
        assert ask(database, "select progress from shiftlock.job_runs") == {"done": 7}


def test_it_ends_with_the_job_and_leaves_no_thread(database_url: str) -> None:
    before = threading.enumerate()
    with watched(database_url) as watch:
        with watch.lease():
            watch.wait_for_beats(1)
            assert len(threading.enumerate()) > len(before)
        assert threading.enumerate() == before
        assert watch.lost.empty()


def test_a_broken_connection_is_replaced_the_lock_taken_again_and_the_run_goes_on(
    database_url: str, database: psycopg.Connection
) -> None:
    with watched(database_url, timedelta(seconds=4)) as watch:
        with watch.lease():
            before = ask(database, LOCK_HOLDER)
            assert ask(database, END_GUARD) is True
            watch.wait_for_beats(1 + (watch.beats == 0))
            after = ask(database, LOCK_HOLDER)
            assert after == ask(database, BACKEND)
            assert after != before
        watch.guard.finish(watch.run, Ending(outcome="succeeded", status="succeeded"))
    assert watch.lost.empty()
    assert ask(database, "select array_agg(outcome) from shiftlock.job_attempts") == ["succeeded"]


def test_a_database_that_comes_back_within_the_lease_finds_the_run_still_held(database_url: str) -> None:
    with watched(database_url, timedelta(seconds=4)) as watch, watch.lease():
        begin_outage(database_url)
        end_outage(database_url)
        watch.wait_for_beats(1 + (watch.beats == 0))
        assert watch.lost.empty()
        with psycopg.connect(database_url) as back:
            assert ask(back, LOCK_HOLDER) == ask(back, BACKEND)


def test_a_run_that_was_taken_over_is_given_up_with_the_reason(database_url: str, database: psycopg.Connection) -> None:
    with watched(database_url) as watch, watch.lease():
        database.execute(TAKE_OVER)
        reason = watch.lost.get(timeout=LONG)
    assert reason == (
        f"run {watch.run.run_id} is no longer held under fence {watch.run.fence}: another attempt has taken over"
    )
    assert watch.lost.empty()


def test_a_takeover_while_the_connection_was_broken_is_noticed_at_the_next_one(
    database_url: str, database: psycopg.Connection
) -> None:
    with watched(database_url) as watch, watch.lease():
        database.execute(TAKE_OVER)
        database.execute(END_GUARD)
        assert "another attempt has taken over" in watch.lost.get(timeout=LONG)
        assert database.execute(LOCK_HOLDER).fetchall() == []


def test_a_database_away_for_the_whole_lease_stops_the_job_when_the_lease_ends(database_url: str) -> None:
    with watched(database_url) as watch, watch.lease():
        watch.wait_for_beats(1)
        began = time.monotonic()
        begin_outage(database_url)
        reason = watch.lost.get(timeout=LONG)
        waited = time.monotonic() - began
    assert reason.startswith("the lease ended before it could be renewed: database ")
    assert "not currently accepting connections" in reason
    assert watch.lost.empty()
    # Renewed at most a third of the lease before the outage; the upper bound is generous to a busy machine.
    assert LEASE.total_seconds() / 2 < waited < 20
    end_outage(database_url)


@pytest.mark.parametrize("cut", [pytest.param(False, id="renewing"), pytest.param(True, id="after a cut")])
def test_a_renewal_that_hangs_does_not_keep_the_job_past_its_lease(
    database_url: str, database: psycopg.Connection, *, cut: bool
) -> None:
    """The database is reached but does not answer, as with a stuck disk: here for a row that somebody has locked."""
    with watched(database_url) as watch, watch.lease():
        watch.wait_for_beats(1)
        with psycopg.connect(database_url) as stuck:
            stuck.execute("select from shiftlock.job_runs for update")
            if cut:
                database.execute(END_GUARD)
            began = time.monotonic()
            reason = watch.lost.get(timeout=LONG)
            waited = time.monotonic() - began
            assert reason == "the lease ended before it could be renewed: the database does not answer"
            assert waited < 20
    assert watch.lost.empty()


def test_the_end_of_the_job_is_not_held_up_by_the_next_beat(database_url: str) -> None:
    with watched(database_url, timedelta(hours=1)) as watch:
        began = time.monotonic()
        with watch.lease():
            pass
        assert time.monotonic() - began < 20


def test_an_end_that_cannot_be_recorded_in_time_is_reported_as_a_database_out_of_reach(
    database_url: str, database: psycopg.Connection
) -> None:
    success = Ending(outcome="succeeded", status="succeeded")
    with watched(database_url, timedelta(seconds=1)) as watch, psycopg.connect(database_url) as stuck:
        stuck.execute("select from shiftlock.job_runs for update")
        database.execute(END_GUARD)
        with pytest.raises(DatabaseUnavailable, match="statement timeout"):
            watch.guard.finish(watch.run, success)
        stuck.rollback()
        watch.guard.finish(watch.run, success)
    assert ask(database, "select status from shiftlock.job_runs") == "succeeded"
