"""`jobs run` and `jobs migrate`: the commands that change something, as processes of their own."""

import json
import signal
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from handlers.declaration.run_key import tick_key
from handlers.guard.migrate import shipped
from handlers.guard.request import Ending
from handlers.runtime.report import Report, Result
from handlers.schedule import SCHEDULE
from ops.commands.run_job import FURTHEST, check_tick, outcome
from ops.refused import Refused
from tests.guard.holders import claimed, guard_on, request
from tests.ops.command import Jobs, by_process, finished, start

JOB = "session-cleanup"
AT = "2026-12-05T12:00Z"  # a week after noon of the second day loaded
NOW = datetime(2026, 11, 30, tzinfo=UTC)
RUN = "select run_key, trigger, status, result from shiftlock.job_runs where attempt > 0"
OLD = "select count(*) from platform.sessions where ended_at < '2026-11-28 12:00+00'"


def test_a_job_runs_here_and_now_through_the_ledger(platform_url: str, database: psycopg.Connection) -> None:
    [(old,)] = database.execute(OLD)
    done = by_process(platform_url, "run", JOB, "--tick", AT)
    result = {"before": "2026-11-28T12:00:00+00:00", "deleted": old}
    assert done.code == 0
    assert done.out == f"{JOB} {AT} succeeded: the job returned (run 1, attempt 1): {json.dumps(result)}\n"
    assert done.err.splitlines()[0] == f"{JOB} {AT}: attempt 1 of run 1 has started"
    assert "{" not in done.err
    assert database.execute(RUN).fetchall() == [(AT, "manual", "succeeded", result)]
    assert old > 0


def test_a_tick_that_is_done_is_not_run_again_and_gives_its_result(platform_url: str) -> None:
    first = by_process(platform_url, "run", JOB, "--tick", AT)
    again = by_process(platform_url, "run", JOB, "--tick", "2026-12-05T15:00:00+03:00")
    assert again.code == 10
    assert again.out.startswith(f"{JOB} {AT} already done: the run has succeeded (run 1): {{")
    assert again.out.partition("): ")[2] == first.out.partition("): ")[2]


def test_without_a_tick_it_is_the_latest(platform_url: str, database: psycopg.Connection) -> None:
    before = datetime.now(UTC)
    assert by_process(platform_url, "run", JOB).code == 0
    after = datetime.now(UTC)
    ticks = {SCHEDULE.find(JOB).schedule.previous(moment) for moment in (before, after)}
    [(run_key, *_)] = database.execute(RUN)
    assert run_key in {tick_key(tick) for tick in ticks if tick is not None}


def test_log_and_metrics_go_to_stderr_when_they_are_asked_for(platform_url: str) -> None:
    done = by_process(platform_url, "run", JOB, "--tick", AT, "--verbose")
    assert done.out.count("\n") == 1
    records = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    assert any(record.get("RunSucceeded") == [1.0] for record in records)
    assert any(record.get("message") == "succeeded" for record in records)


def test_a_run_that_was_cancelled_is_not_run_again_but_with_the_command_that_is_named(platform_url: str) -> None:
    with guard_on(platform_url) as guard:
        run = claimed(guard, request(AT, job=JOB, tick=datetime.fromisoformat(AT), trigger="manual"))
        guard.finish(run, Ending(outcome="cancelled", status="cancelled"))
    done = by_process(platform_url, "run", JOB, "--tick", AT)
    assert (done.code, done.out) == (
        10,
        f"{JOB} {AT} already done: the run was cancelled (run 1); `jobs retry 1` has it run again\n",
    )


def test_a_job_that_fails_says_why_after_each_attempt_and_exits_with_1(database_url: str) -> None:
    done = by_process(database_url, "run", JOB, "--tick", AT)
    why = 'UndefinedTable: relation "platform.sessions" does not exist'
    assert done.code == 1
    assert done.out == f"{JOB} {AT} failed: attempt 3 of 3 failed (run 1, attempt 3): {why}\n"
    assert sum(why in line for line in done.err.splitlines()) == 3


def test_a_run_that_another_holds_is_left_to_it(platform_url: str) -> None:
    with guard_on(platform_url) as guard:
        claimed(guard, request(AT, job=JOB, tick=datetime.fromisoformat(AT)))
        done = by_process(platform_url, "run", JOB, "--tick", AT)
    assert (done.code, done.out) == (11, f"{JOB} {AT} busy: holder-1 is working on this run\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_job_at_its_next_safe_point(
    platform_url: str, database: psycopg.Connection, number: signal.Signals
) -> None:
    with database.transaction():
        database.execute("lock table platform.sessions in access exclusive mode")
        process = start(platform_url, "run", JOB, "--tick", AT)
        assert process.stderr is not None
        assert "has started" in process.stderr.readline()
        process.send_signal(number)
    done = finished(process)
    assert done.code == 143
    assert done.out.startswith(f"{JOB} {AT} interrupted: interrupted, which uses up no attempt (run 1, attempt 1)")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("2026-11-29T02:07Z", "the nearest are 2026-11-29T02:00Z before and 2026-11-29T02:15Z after"),
        ("2026-11-29T02:00:30Z", "the nearest are 2026-11-29T02:00Z before and 2026-11-29T02:15Z after"),
        ("9999-12-31T00:00Z", "the nearest are 2199-12-31T23:45Z before"),
    ],
)
def test_a_time_that_is_no_tick_is_refused_with_the_nearest(given: str, said: str) -> None:
    with pytest.raises(Refused, match=f"is no tick of {JOB}: {said}$"):
        check_tick(SCHEDULE.find(JOB), datetime.fromisoformat(given), NOW)


def test_a_tick_that_is_far_ahead_is_refused_since_the_job_would_look_back_from_there() -> None:
    job = SCHEDULE.find(JOB)
    check_tick(job, NOW + FURTHEST, NOW)
    with pytest.raises(Refused, match=r"2027-12-01T00:00Z is 366 d ahead: allowed is a tick of the next 31 d$"):
        check_tick(job, NOW + timedelta(days=366), NOW)


def test_a_job_without_a_schedule_is_given_messages_instead_and_leaves_no_run(
    jobs: Jobs, database: psycopg.Connection
) -> None:
    for tick in ((), ("--tick", AT)):
        done = jobs("run", "image-resize", *tick)
        assert (done.code, done.out, done.err) == (
            2,
            "",
            "jobs: image-resize takes its work from messages: "
            "`jobs queue send image-resize JSON --key KEY` sends one\n",
        )
    assert database.execute("select count(*) from shiftlock.job_runs").fetchone() == (0,)


def test_a_parent_whose_children_go_on_has_not_succeeded_yet() -> None:
    report = Report("inventory-sync", AT, Result.SUCCEEDED, "the job returned", run_id=7, attempt=1, status="running")
    assert outcome(report) == f"inventory-sync {AT} running: it waits for its children (run 7, attempt 1)"


def test_a_refused_tick_leaves_no_trace(database_url: str, database: psycopg.Connection) -> None:
    done = by_process(database_url, "run", JOB, "--tick", "2026-11-29T02:07Z")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"jobs: 2026-11-29T02:07:00Z is no tick of {JOB}: the nearest are ")
    assert database.execute("select count(*) from shiftlock.job_runs").fetchone() == (0,)


def test_migrate_says_what_it_did_and_the_second_time_that_nothing_was_left(
    database_url: str, database: psycopg.Connection
) -> None:
    database.execute("drop schema shiftlock cascade")
    first = by_process(database_url, "migrate")
    assert first.code == 0
    assert first.out.splitlines() == [
        *(f"applied {name}" for name in shipped().values()),
        f"registered {len(SCHEDULE)} new of {len(SCHEDULE)} jobs",
    ]
    assert by_process(database_url, "migrate").out.splitlines() == [
        "the schema is up to date",
        f"all {len(SCHEDULE)} jobs are registered",
    ]


def test_two_migrations_at_once_do_the_work_of_one(database_url: str, database: psycopg.Connection) -> None:
    database.execute("drop schema shiftlock cascade")
    both = [start(database_url, "migrate") for _ in range(2)]
    done = [finished(process) for process in both]
    assert [each.code for each in done] == [0, 0]
    said = "".join(each.out for each in done)
    for name in shipped().values():
        assert said.count(f"applied {name}") == 1
    registered = database.execute("select name from shiftlock.jobs order by name").fetchall()
    assert registered == sorted((job.name,) for job in SCHEDULE)
