"""A job that must not go on is interrupted, once, and nothing of the supervision is left behind."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from handlers.declaration.policy import Retry
from handlers.runtime.report import Result
from handlers.runtime.stop import Stop
from handlers.runtime.supervisor import Interruption, Supervisor
from tests.runtime.running import run, sample

LONG = 60.0
IDLE = "select state from pg_stat_activity where pid = %s"


@pytest.fixture
def stop() -> Stop:
    return Stop()


def no_giving_up(interruption: Interruption) -> None:
    raise AssertionError(f"the job did not come back from: {interruption}")


def supervisor(stop: Stop, **limits: Any) -> Supervisor:
    facts: dict[str, Any] = {"deadline": LONG, "stop_within": LONG, "grace": LONG, "give_up": no_giving_up}
    return Supervisor(stop=stop, **(facts | limits))


def work_until_interrupted(watch: Supervisor, job: Callable[[], object]) -> Interruption:
    with pytest.raises(Interruption) as caught, watch:
        job()
    watch.end()
    return caught.value


def wait_long() -> None:
    threading.Event().wait(LONG)


def spin() -> None:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize("job", [wait_long, spin, lambda: time.sleep(LONG)], ids=["lock", "loop", "system call"])
def test_the_deadline_interrupts_a_job_wherever_it_is(stop: Stop, job: Callable[[], object]) -> None:
    began = time.monotonic()
    interruption = work_until_interrupted(supervisor(stop, deadline=0.05), job)
    assert (interruption.reason, str(interruption)) == ("deadline", "it passed its limit of 0 s")
    assert 0.05 <= time.monotonic() - began < 30


def test_an_interruption_cancels_the_running_statement_and_leaves_the_connection_usable(
    stop: Stop, database: psycopg.Connection, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        interruption = work_until_interrupted(
            supervisor(stop, deadline=0.2), lambda: connection.execute("select pg_sleep(60)")
        )
        assert interruption.reason == "deadline"
        assert database.execute(IDLE, (connection.info.backend_pid,)).fetchone() == ("idle",)
        assert connection.execute("select 1").fetchone() == (1,)


def test_an_interruption_passes_through_a_jobs_except_exception(stop: Stop) -> None:
    def stubborn() -> None:
        try:
            wait_long()
        except Exception as error:
            raise AssertionError("the job caught its interruption") from error

    assert work_until_interrupted(supervisor(stop, deadline=0.05), stubborn).reason == "deadline"


def test_a_request_to_stop_gives_the_job_its_time_and_then_interrupts_it(stop: Stop) -> None:
    stop.request()
    interruption = work_until_interrupted(supervisor(stop, stop_within=0.05), wait_long)
    assert interruption.reason == "stop"
    assert str(interruption) == "it was told to stop and reached no safe point within 0 s"


def test_a_request_to_stop_does_not_put_off_a_nearer_deadline(stop: Stop) -> None:
    stop.request()
    assert work_until_interrupted(supervisor(stop, deadline=0.05), wait_long).reason == "deadline"


def test_a_job_that_stops_in_time_is_not_interrupted(stop: Stop) -> None:
    with supervisor(stop):
        stop.request()
        assert stop.wait(LONG)


def test_only_the_first_reason_counts(stop: Stop) -> None:
    watch = supervisor(stop)

    def two_reasons() -> None:
        watch.interrupt("lease", "the first")
        watch.interrupt("stop", "the second")

    def job() -> None:
        threading.Thread(target=two_reasons).start()
        wait_long()

    interruption = work_until_interrupted(watch, job)
    assert (interruption.reason, str(interruption)) == ("lease", "the first")


def test_of_many_reasons_at_once_one_interrupts_and_the_clean_up_is_left_alone(stop: Stop) -> None:
    """A second interruption would strike the job's own clean-up after the first."""
    watch = supervisor(stop)
    together = threading.Barrier(8)
    seen = []

    def one(number: int) -> None:
        together.wait(LONG)
        watch.interrupt("lease", str(number))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]

    def job() -> None:
        try:
            for thread in threads:
                thread.start()
            wait_long()
        except Interruption as interruption:
            seen.append(interruption)
            for thread in threads:
                thread.join(LONG)
            raise

    assert work_until_interrupted(watch, job) is seen[0]


def test_nothing_fires_after_the_end(stop: Stop) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with supervisor(stop) as watch:
        assert signal.getsignal(signal.SIGALRM) != before
    watch.interrupt("lease", "too late")
    assert signal.getsignal(signal.SIGALRM) == before
    assert not signal.sigpending()


def test_a_job_whose_run_is_lost_before_it_begins_does_not_begin(stop: Stop) -> None:
    begun: list[str] = []
    watch = supervisor(stop)
    watch.interrupt("lease", "lost while this process was frozen")
    interruption = work_until_interrupted(watch, lambda: begun.append("the job"))
    assert (str(interruption), begun) == ("lost while this process was frozen", [])


def test_a_deadline_that_has_passed_already_leaves_the_job_no_time(stop: Stop) -> None:
    assert work_until_interrupted(supervisor(stop, deadline=0.0), wait_long).reason == "deadline"


def test_ending_twice_is_ending_once(stop: Stop) -> None:
    with supervisor(stop) as watch:
        watch.end()


def test_a_job_that_does_not_come_back_within_its_grace_is_given_up(stop: Stop) -> None:
    given_up: list[Interruption] = []
    gave_up = threading.Event()

    def give_up(interruption: Interruption) -> None:
        given_up.append(interruption)
        gave_up.set()

    def deaf() -> None:
        try:
            wait_long()
        except Interruption:
            assert gave_up.wait(LONG)
            raise

    interruption = work_until_interrupted(supervisor(stop, deadline=0.01, grace=0.05, give_up=give_up), deaf)
    assert given_up == [interruption]


def process_state() -> tuple[object, int, set[signal.Signals], int]:
    """What a supervision may change in its process: handler, threads, pending signals, open descriptors."""
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    return signal.getsignal(signal.SIGALRM), threading.active_count(), signal.sigpending(), descriptors


def until(end: float) -> None:
    while time.monotonic() < end:
        pass


def test_a_job_that_returns_at_its_very_deadline_has_one_outcome_and_leaves_nothing(stop: Stop) -> None:
    """As the attempt does it: an interruption may strike up to the end of the supervision, never after it."""
    before = process_state()
    outcomes: Counter[str] = Counter()
    for number in range(500):
        deadline = 0.0005 * (number % 8)
        watch = supervisor(stop, deadline=deadline)
        job_ends = time.monotonic() + deadline + 0.00005 * (number % 13)
        try:
            with watch:
                until(job_ends)
            outcomes["returned"] += 1
        except Interruption:
            watch.end()
            outcomes["interrupted"] += 1
        assert process_state() == before, number
    assert outcomes["returned"] > 0
    assert outcomes["interrupted"] > 0


def test_a_run_that_ends_at_its_very_deadline_has_succeeded_or_timed_out(
    database_url: str, database: psycopg.Connection
) -> None:
    """The whole of an attempt, with its claim, lease and record, cut at every point of its length."""
    once = Retry(attempts=1)
    stop = Stop()
    began = time.monotonic()
    run(sample("succeed", retry=once), database_url, observers=(), at=None, trigger="manual", stop=stop)
    length = time.monotonic() - began
    before = process_state()
    results = []
    for number in range(100):
        report = run(
            sample("succeed", retry=once),
            database_url,
            observers=(),
            at=None,
            trigger="manual",
            stop=stop,
            seconds_left=length * (number % 50) / 25,
            lease=timedelta(seconds=30),
        )
        results.append(report.result)
        assert process_state() == before, number
    assert set(results) <= {Result.SUCCEEDED, Result.TIMED_OUT}
    recorded = database.execute("select outcome from shiftlock.job_attempts order by fence offset 1").fetchall()
    assert [outcome for (outcome,) in recorded] == [str(result) for result in results]
