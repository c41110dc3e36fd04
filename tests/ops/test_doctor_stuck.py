"""`jobs doctor` on ledgers in which runs are stuck."""

from datetime import timedelta

import psycopg

from handlers.guard.request import Ending
from handlers.schedule import SCHEDULE
from tests.guard.holders import claimed, guard_on, request
from tests.ops.command import Jobs
from tests.ops.findings import problems

JOB = "session-cleanup"


def test_a_run_whose_holder_has_lost_its_lease_is_a_problem(
    well: Jobs, database_url: str, database: psycopg.Connection
) -> None:
    with guard_on(database_url) as guard:
        claimed(guard, request())
        assert problems(well("doctor")) == {}
        database.execute("update shiftlock.job_runs set lease_until = clock_timestamp() - interval '3 minutes'")
        assert problems(well("doctor")) == {
            "lost runs": "run 1 (nightly@2026-11-29T02:00Z, lease ended 3 min ago);"
            " the job's next start takes it over, and `jobs run JOB --tick TICK` does so now"
        }


def test_runs_that_wait_for_a_persons_word_are_a_problem_and_not_all_of_them_are_listed(
    well: Jobs, database_url: str
) -> None:
    with guard_on(database_url) as guard:
        for number in range(5):
            run = claimed(guard, request(f"key-{number}"))
            guard.finish(run, Ending(outcome="timed_out", status="unknown"))
    text = problems(well("doctor"))["unknown runs"]
    assert text.startswith("run 1 (nightly@key-0, started ")
    assert "key-2, started " in text
    assert text.endswith(" ago) and 2 more; find out what it did, then `jobs resolve RUN --as succeeded|failed|retry`")


def test_a_run_is_overdue_once_its_job_should_have_started_it(
    well: Jobs, database_url: str, database: psycopg.Connection
) -> None:
    allowed = SCHEDULE.find(JOB).start_within
    with guard_on(database_url) as guard:
        run = claimed(guard, request(job=JOB))
        guard.finish(run, Ending(outcome="interrupted", status="pending"))

    def due(ago: timedelta) -> None:
        database.execute("update shiftlock.job_runs set next_run = clock_timestamp() - %s", [ago])

    due(allowed - timedelta(minutes=1))
    assert problems(well("doctor")) == {}
    due(allowed + timedelta(minutes=1))
    assert problems(well("doctor")) == {
        "overdue runs": f"run 1 ({JOB}@2026-11-29T02:00Z, due 6 min ago);"
        " `jobs run JOB --tick TICK` starts it now, `jobs cancel RUN` drops it"
    }
    database.execute("update shiftlock.jobs set paused_at = clock_timestamp()")
    assert problems(well("doctor")) == {}


def test_a_run_that_waits_for_the_one_before_is_overdue_only_when_that_has_gone(
    well: Jobs, database_url: str, database: psycopg.Connection
) -> None:
    with guard_on(database_url) as guard:
        first = claimed(guard, request())
        guard.claim(request("2026-11-28T02:00Z", overlap="queue"))
        database.execute("update shiftlock.job_runs set next_run = '2020-01-01' where waiting")
        assert problems(well("doctor")) == {}
        guard.finish(first, Ending(outcome="succeeded", status="succeeded"))
        assert list(problems(well("doctor"))) == ["overdue runs"]
