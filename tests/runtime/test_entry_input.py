"""What the entries do with input that no job can be run for: one line that says what, where and what to do."""

import socket

import psycopg
import pytest

from handlers.declaration.catalogue import UnknownJob, declare
from handlers.guard.errors import DatabaseUnavailable
from handlers.runtime.identity import MalformedDelivery
from handlers.runtime.lambda_entry import handler
from handlers.runtime.settings import InvalidSettings
from tests.runtime.lambda_calls import LambdaCall
from tests.runtime.running import sample
from tests.runtime.sandbox import Ended, environment, run_task

AT = "2026-11-28T23:00:00Z"


def refused(ended: Ended, code: int) -> str:
    """The one line that a task which did not start has left on stderr."""
    assert (ended.code, ended.logs) == (code, [])
    [line] = ended.err.splitlines()
    assert line.startswith("task_entry: ")
    return line.removeprefix("task_entry: ")


NOWHERE = "postgresql://job:hush@127.0.0.1:1/shiftlock"  # never reached: the input is refused before


def test_an_unknown_job_is_refused_with_the_nearest_name() -> None:
    line = refused(run_task("biling-run", NOWHERE, AT), 2)
    assert line == "unknown job 'biling-run': did you mean billing-run?"


def test_a_task_without_settings_names_all_that_it_lacks() -> None:
    line = refused(run_task("billing-run", None, AT), 2)
    assert line.startswith("bad settings: SHIFTLOCK_DATABASE_HOST is not set")
    assert "AWS_REGION is not set" in line


def test_a_malformed_event_time_is_refused() -> None:
    line = refused(run_task("billing-run", NOWHERE, "2026-11-28T23:00:00"), 2)
    assert line.startswith("time is '2026-11-28T23:00:00': allowed is an ISO 8601 time with zone")


def test_a_malformed_url_is_refused_without_its_password() -> None:
    line = refused(run_task("billing-run", "postgresql://job:hu%sh@db/shiftlock", AT), 2)
    assert "hu%sh" not in line


def test_a_task_without_aws_credentials_says_what_to_give_it() -> None:
    on_aws = {
        "SHIFTLOCK_DATABASE_HOST": "db.invalid",
        "SHIFTLOCK_DATABASE_NAME": "shiftlock",
        "SHIFTLOCK_DATABASE_USER": "job",
        "AWS_REGION": "me-central-1",
    }
    assert refused(run_task("billing-run", None, AT, **on_aws), 2).startswith("no AWS credentials")


def test_an_unreachable_database_is_named_with_its_host() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        port = taken.getsockname()[1]
        line = refused(run_task("billing-run", f"postgresql://job:hush@127.0.0.1:{port}/shiftlock", AT), 69)
    assert line.startswith(f"database shiftlock at 127.0.0.1:{port} unavailable: ")
    assert "hush" not in line


def test_an_old_schema_is_refused_with_what_to_do(database_url: str, database: psycopg.Connection) -> None:
    database.execute("delete from shiftlock.migrations")
    assert "run `jobs migrate` first" in refused(run_task("billing-run", database_url, AT), 70)


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process the function of a sample job, with a database that is never reached."""
    monkeypatch.setattr("handlers.runtime.lambda_entry.SCHEDULE", declare(sample("succeed")))
    for name, value in environment(NOWHERE, SHIFTLOCK_JOB="sample").items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("function")
@pytest.mark.parametrize("event", [{}, {"trigger": "rule"}, {"trigger": "cron", "time": AT}, {"detail": {"time": AT}}])
def test_a_lambda_raises_on_a_malformed_event(event: dict[str, object]) -> None:
    with pytest.raises(MalformedDelivery, match="allowed is"):
        handler(event, LambdaCall("request"))


@pytest.mark.usefixtures("function")
@pytest.mark.parametrize(
    ("variable", "value", "error", "said"),
    [
        ("SHIFTLOCK_JOB", "samples", UnknownJob, "did you mean sample?"),
        ("SHIFTLOCK_JOB", "", UnknownJob, "known are sample"),
        ("SHIFTLOCK_ENVIRONMENT", "", InvalidSettings, "SHIFTLOCK_ENVIRONMENT is not set"),
        ("SHIFTLOCK_DATABASE_URL", NOWHERE, DatabaseUnavailable, "database shiftlock at 127.0.0.1:1 unavailable"),
    ],
)
def test_a_lambda_that_cannot_start_raises_one_line_that_says_why(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, error: type[Exception], said: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(error) as caught:
        handler({"trigger": "rule", "time": AT}, LambdaCall("request"))
    assert said in str(caught.value)
    assert "hush" not in str(caught.value)
    assert "\n" not in str(caught.value)
