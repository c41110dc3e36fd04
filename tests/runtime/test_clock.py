"""The clock as a real process with real children: it starts what is due, and ends in good order."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil
import psycopg
import pytest

from handlers.guard.lock import register
from tests.runtime.sandbox import LONG, REPOSITORY, environment

TELL = """
create function tell() returns trigger language plpgsql as $$
begin
    perform pg_notify('moves', new.job_name || ' ' || new.status);
    return null;
end $$;
create trigger tell after insert or update of status on shiftlock.job_runs for each row execute function tell();
"""
DUE = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, next_run)
select name, to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI"Z"'), lock_key, at, 'plan', 'pending', at
from shiftlock.jobs,
     lateral (select date_trunc('minute', clock_timestamp()) - %(age)s * interval '1 minute' as at) as tick
where name = %(job)s
"""
RUNS = "select status, attempt, trigger from shiftlock.job_runs where job_name = %s and attempt > 0 order by tick"
OUTCOMES = """
select outcome from shiftlock.job_attempts join shiftlock.job_runs on id = run_id where job_name = %s order by run_id, 1
"""
POISON = """
create function poison() returns trigger language plpgsql as $$ begin raise exception 'poisoned'; end $$;
create trigger poison before update of called_at on shiftlock.job_runs for each row
when (new.job_name = 'quick') execute function poison();
"""
END_CLOCKS_SESSION = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where application_name = 'shiftlock clock' and datname = current_database()
"""


@pytest.fixture
def ledger(database: psycopg.Connection) -> psycopg.Connection:
    """The test's ledger, which tells of each change of state."""
    database.execute(TELL)
    database.execute("listen moves")
    database.execute("listen begun")
    return database


def due(ledger: psycopg.Connection, job: str, *ages: int) -> None:
    """Let ticks of the job be due that are so many minutes old."""
    register(ledger, [job])
    for age in ages:
        ledger.execute(DUE, {"job": job, "age": age})


def wait_for(ledger: psycopg.Connection, move: str, times: int = 1) -> None:
    """Wait until the ledger has told of the move so often."""
    for told in ledger.notifies(timeout=LONG):
        times -= move in (told.payload, told.channel)
        if times == 0:
            return
    raise AssertionError(f"no {move} within {LONG} s")


@contextmanager
def clock(url: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A running clock; at the end neither it nor any of its children is left."""
    command = [sys.executable, "-m", "tests.runtime.clock_process"]
    variables = {"POWERTOOLS_LOG_LEVEL": "DEBUG", **variables}
    process = subprocess.Popen(
        command, env=environment(url, **variables), cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    family = psutil.Process(process.pid)
    try:
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            for one in (*family.children(recursive=True), family):
                one.kill()
        process.communicate()


def children_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children()


def end(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Tell it to stop; its log, once it has ended as it should."""
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=LONG)
    assert process.returncode == 0
    return [line for line in map(json.loads, out.splitlines()) if "level" in line]


def test_what_is_due_is_run_at_once_by_a_child(database_url: str, ledger: psycopg.Connection) -> None:
    due(ledger, "quick", 0)
    with clock(database_url) as process:
        wait_for(ledger, "quick succeeded")
        end(process)
    assert ledger.execute(RUNS, ["quick"]).fetchall() == [("succeeded", 1, "clock")]


def test_missed_ticks_run_one_after_another_without_waiting_for_the_next_minute(
    database_url: str, ledger: psycopg.Connection
) -> None:
    due(ledger, "quick", 50, 40, 30)
    with clock(database_url) as process:
        wait_for(ledger, "quick succeeded", 3)
        log = end(process)
    assert ledger.execute(RUNS, ["quick"]).fetchall() == [("succeeded", 1, "catch-up")] * 3
    called = [line["run_key"] for line in log if line["message"] == "called"]
    assert called == sorted(called)


def test_two_clocks_run_each_tick_once_and_say_so_at_debug(database_url: str, ledger: psycopg.Connection) -> None:
    due(ledger, "quick", 50, 40, 30)
    with clock(database_url) as first, clock(database_url) as second:
        wait_for(ledger, "quick succeeded", 3)
        logs = [*end(first), *end(second)]
    assert ledger.execute(RUNS, ["quick"]).fetchall() == [("succeeded", 1, "catch-up")] * 3
    assert {line["level"] for line in logs if line["message"] == "called by another scheduler"} <= {"DEBUG"}


def test_a_retry_is_started_when_its_wait_is_over(database_url: str, ledger: psycopg.Connection) -> None:
    due(ledger, "unlucky", 0)
    with clock(database_url) as process:
        wait_for(ledger, "unlucky succeeded")
        end(process)
    assert ledger.execute(RUNS, ["unlucky"]).fetchall() == [("succeeded", 3, "clock")]


def test_sigterm_lets_a_running_job_reach_its_safe_point(database_url: str, ledger: psycopg.Connection) -> None:
    due(ledger, "patient", 0)
    with clock(database_url) as process:
        wait_for(ledger, "begun")
        children = children_of(process)
        end(process)
        assert not any(child.is_running() for child in children)
    assert ledger.execute(RUNS, ["patient"]).fetchall() == [("pending", 1, "clock")]
    assert ledger.execute(OUTCOMES, ["patient"]).fetchall() == [("interrupted",)]


def test_the_children_of_a_clock_that_is_killed_end_in_good_order(
    database_url: str, ledger: psycopg.Connection
) -> None:
    due(ledger, "patient", 0)
    with clock(database_url) as process:
        wait_for(ledger, "begun")
        [child] = children_of(process)
        process.kill()
        child.wait(LONG)
    assert ledger.execute(OUTCOMES, ["patient"]).fetchall() == [("interrupted",)]


def test_a_child_that_hangs_loses_its_run_and_is_killed(database_url: str, ledger: psycopg.Connection) -> None:
    due(ledger, "stuck", 0)
    with clock(database_url, SHIFTLOCK_LEASE_SECONDS="1") as process:
        wait_for(ledger, "stuck succeeded")
        assert [child.status() for child in children_of(process)] in ([], ["running"], ["sleeping"])
        end(process)
    assert ledger.execute(RUNS, ["stuck"]).fetchall() == [("succeeded", 2, "clock")]
    assert ledger.execute(OUTCOMES, ["stuck"]).fetchall() == [("lost",), ("succeeded",)]


def test_a_clock_whose_session_is_cut_goes_on_with_another(database_url: str, ledger: psycopg.Connection) -> None:
    due(ledger, "patient", 0)
    with clock(database_url) as process:
        wait_for(ledger, "begun")
        due(ledger, "quick", 5)
        assert ledger.execute(END_CLOCKS_SESSION).fetchall() == [(True,)]
        [child] = children_of(process)
        child.terminate()  # its end is what the clock looks up for
        wait_for(ledger, "quick succeeded")
        log = end(process)
    assert {"no passes", "passes go on"} <= {line["message"] for line in log}


def test_an_error_that_nobody_expected_ends_neither_the_clock_nor_its_jobs(
    database_url: str, ledger: psycopg.Connection
) -> None:
    due(ledger, "patient", 0)
    with clock(database_url) as process:
        wait_for(ledger, "begun")
        [child] = children_of(process)
        ledger.execute(POISON)
        due(ledger, "quick", 5)  # of before the clock: a later one would have to be a tick of its schedule
        process.send_signal(signal.SIGCHLD)  # look up
        assert process.stdout is not None
        while json.loads(process.stdout.readline()).get("message") != "no passes":
            assert process.poll() is None
        ledger.execute("drop trigger poison on shiftlock.job_runs")
        wait_for(ledger, "quick succeeded")
        assert child.is_running()
        end(process)
    assert ledger.execute(OUTCOMES, ["patient"]).fetchall() == [("interrupted",)]


def test_bad_settings_are_one_line_and_exit_2() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runtime.clock_process"],
        env=environment(None, SHIFTLOCK_CHILDREN="many"),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("clock_entry: bad settings: SHIFTLOCK_CHILDREN is 'many'")
    assert done.stderr.count("\n") == 1
