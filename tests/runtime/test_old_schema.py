"""A schema older than the code needs: everything refuses, and nothing sends the beat whose absence is an alarm.

The alarms `no-watchdog-pass` and `no-clock-pass` take missing data for a breach (tests/infra/test_alarms.py and
test_clock.py); what a function raises ends in the dead-letter queue, which has an alarm of its own.
"""

import subprocess
import sys

import psycopg
import pytest

from handlers.guard.errors import SchemaTooOld
from handlers.runtime import lambda_entry, recorder_entry, watchdog_entry
from handlers.runtime.report import EXIT_SCHEMA_TOO_OLD
from tests.runtime.aws_events import PREFIX, stopped_task
from tests.runtime.lambda_calls import LambdaCall
from tests.runtime.sandbox import LONG, REPOSITORY, environment

BEAT = "WatchdogBeat"
REFUSAL = r"the ledger is at migration 1, this code needs \d+: run `jobs migrate` first"


@pytest.fixture
def old_schema_url(database_url: str, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database that has had the first migration alone, and the variables of a function on it."""
    database.execute("delete from shiftlock.migrations where number > 1")
    for name, value in environment(database_url, SHIFTLOCK_PREFIX=PREFIX, SHIFTLOCK_JOB="session-cleanup").items():
        monkeypatch.setenv(name, value)
    return database_url


@pytest.mark.usefixtures("old_schema_url")
def test_the_watchdog_fails_and_sends_no_beat_and_sends_it_once_the_schema_is_there(
    database: psycopg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SchemaTooOld, match=REFUSAL):
        watchdog_entry.handler({}, None)
    assert BEAT not in capsys.readouterr().out
    database.execute("insert into shiftlock.migrations (number, name) values (1000, 'later')")
    watchdog_entry.handler({}, None)
    assert BEAT in capsys.readouterr().out


@pytest.mark.usefixtures("old_schema_url")
def test_a_jobs_function_raises_and_its_record_goes_where_failures_go(
    database: psycopg.Connection,
) -> None:
    with pytest.raises(SchemaTooOld, match=REFUSAL):
        lambda_entry.handler({"trigger": "rule", "time": "2026-11-29T02:00:00Z"}, LambdaCall("request-1"))
    assert database.execute("select count(*) from shiftlock.job_runs").fetchone() == (0,)


@pytest.mark.usefixtures("old_schema_url")
def test_the_recorder_raises_so_that_what_it_could_not_record_goes_to_the_dead_letters() -> None:
    with pytest.raises(SchemaTooOld, match=REFUSAL):
        recorder_entry.handler(stopped_task(exit_code=EXIT_SCHEMA_TOO_OLD, job="session-cleanup"), None)


def test_the_clock_ends_with_one_line_and_has_sent_no_beat(old_schema_url: str) -> None:
    command = [sys.executable, "-m", "handlers.runtime.clock_entry"]
    ended = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment(old_schema_url),
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert ended.returncode == EXIT_SCHEMA_TOO_OLD
    [line] = ended.stderr.splitlines()
    assert line.startswith("clock_entry: the ledger is at migration 1, this code needs ")
    assert "ClockBeat" not in ended.stdout
