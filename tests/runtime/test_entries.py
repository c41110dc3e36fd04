"""A job as a Lambda function and as a task: repeated, killed, stopped and misused."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import date
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from handlers.declaration.catalogue import declare
from handlers.declaration.policy import Retry
from handlers.runtime.lambda_entry import AttemptFailed, handler
from handlers.runtime.report import Result
from ops.local.platform.load import load
from tests.databases import CLOSE_TEMPLATE, Server, Template, found_servers
from tests.runtime.lambda_calls import LambdaCall
from tests.runtime.running import sample
from tests.runtime.sandbox import (
    LONG,
    REPOSITORY,
    Ended,
    Task,
    environment,
    invoice_held,
    run_task,
    wait_until_blocked,
    wait_until_holder_is_gone,
)

AT = "2026-11-28T23:00:00Z"  # 02:00 on the 29th in Riyadh
LATER = "2026-12-08T12:00:00Z"  # more than a week after all sessions have ended
INVOICES = "select * from platform.invoices order by restaurant_id, day"
ATTEMPTS = "select attempt, outcome from shiftlock.job_attempts order by attempt"
STEPS_PER_ATTEMPT = """
select attempt, count(*)::int from shiftlock.run_steps join shiftlock.job_attempts using (run_id, fence)
group by attempt order by attempt
"""
ONCE = Retry(attempts=1)
Invoices = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def platform_template(template_on: Callable[[Server], Template]) -> Iterator[Template]:
    """A template with the platform's data; the billing run does its 30 restaurants in two batches."""
    plain = template_on(found_servers()[0])
    with plain.clone() as url:
        load(url, date(2026, 11, 28), days=2, restaurants=30, orders_per_day=300)
        name = str(conninfo_to_dict(url)["dbname"])
        plain.admin.execute(CLOSE_TEMPLATE.format(name=sql.Identifier(name)))
        yield Template(name, url, plain.admin)


@pytest.fixture
def platform_url(platform_template: Template) -> Iterator[str]:
    with platform_template.clone() as url:
        yield url


@pytest.fixture
def platform(platform_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(platform_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def undisturbed(platform_template: Template) -> Invoices:
    """The invoices of a billing run that nothing happened to, on a database of its own."""
    with platform_template.clone() as url:
        ended = run_task("billing-run", url, AT)
        assert (ended.code, ended.err) == (0, "")
        with psycopg.connect(url) as connection:
            return connection.execute(INVOICES).fetchall()


def test_a_task_says_in_its_log_what_it_did_and_exits_with_0(platform_url: str) -> None:
    ended = run_task("session-cleanup", platform_url, LATER)
    assert (ended.code, ended.err) == (0, "")
    assert [line["message"] for line in ended.logs] == ["started", "succeeded"]


def test_twenty_tasks_of_one_tick_make_one_attempt_and_nineteen_quiet_duplicates(
    platform_url: str, platform: psycopg.Connection, undisturbed: Invoices
) -> None:
    with invoice_held(platform_url, restaurant=undisturbed[0][0]) as held, ThreadPoolExecutor(20) as pool:
        tasks = [pool.submit(Task("billing-run", platform_url, AT).end) for _ in range(20)]
        ended: list[Ended] = []
        for task in as_completed(tasks):
            ended.append(task.result())
            if len(ended) == 10:  # half of the duplicates came while the job was at it
                held.rollback()
    codes = [end.code for end in ended]
    assert codes.count(0) == 1
    assert set(codes) <= {0, 10, 11}
    assert codes.count(11) >= 10
    assert [end.err for end in ended] == [""] * 20
    assert [line for end in ended for line in end.above_info] == []
    assert [end.logs for end in ended if end.code] == [[]] * 19
    assert platform.execute(ATTEMPTS).fetchall() == [(1, "succeeded")]
    assert platform.execute(INVOICES).fetchall() == undisturbed


def test_twenty_lambdas_of_one_event_make_one_attempt_and_nineteen_quiet_duplicates(
    platform_url: str, platform: psycopg.Connection
) -> None:
    called = subprocess.run(
        [sys.executable, "-m", "tests.runtime.lambda_calls", "20", LATER],
        env=environment(platform_url, SHIFTLOCK_JOB="session-cleanup"),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=LONG,
    )
    ended = Ended(called.returncode, called.stdout, called.stderr)
    assert (ended.code, ended.err, ended.above_info) == (0, "", [])
    outcomes = [answer["outcome"] for answer in ended.answers]
    assert len(outcomes) == 20
    assert outcomes.count("succeeded") == 1
    assert set(outcomes) <= {"succeeded", "already_done", "busy"}
    assert platform.execute(ATTEMPTS).fetchall() == [(1, "succeeded")]
    assert platform.execute("select count(*) from platform.sessions where ended_at is not null").fetchone() == (0,)


def test_a_task_killed_in_the_middle_is_finished_by_the_next_delivery_as_if_nothing_had_happened(
    platform_url: str, platform: psycopg.Connection, undisturbed: Invoices
) -> None:
    with invoice_held(platform_url, restaurant=undisturbed[-1][0]):
        task = Task("billing-run", platform_url, AT, SHIFTLOCK_LEASE_SECONDS="2")
        wait_until_blocked(task, platform)
        task.kill()
        assert task.end().code == -signal.SIGKILL
        wait_until_holder_is_gone("billing-run", platform)
    ended = run_task("billing-run", platform_url, AT, SHIFTLOCK_LEASE_SECONDS="2")
    assert (ended.code, ended.err) == (0, "")
    assert platform.execute(ATTEMPTS).fetchall() == [(1, "lost"), (2, "succeeded")]
    assert platform.execute(STEPS_PER_ATTEMPT).fetchall() == [(1, 20), (2, 10)]
    assert platform.execute(INVOICES).fetchall() == undisturbed


def test_a_task_told_to_stop_in_the_middle_ends_after_its_batch_and_the_next_delivery_goes_on(
    platform_url: str, platform: psycopg.Connection, undisturbed: Invoices
) -> None:
    with invoice_held(platform_url, restaurant=undisturbed[0][0]):
        task = Task("billing-run", platform_url, AT)
        wait_until_blocked(task, platform)
        task.terminate()
    stopped = task.end()
    assert (stopped.code, stopped.err) == (143, "")
    assert [line["message"] for line in stopped.above_info] == ["interrupted"]
    assert platform.execute(ATTEMPTS).fetchall() == [(1, "interrupted")]
    assert run_task("billing-run", platform_url, AT).code == 0
    assert platform.execute(ATTEMPTS).fetchall() == [(1, "interrupted"), (2, "succeeded")]
    assert platform.execute(STEPS_PER_ATTEMPT).fetchall() == [(1, 20), (2, 10)]
    assert platform.execute(INVOICES).fetchall() == undisturbed


@pytest.fixture
def function_of(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make this process the function of a sample job that has one attempt."""

    def set_up(function: str) -> None:
        monkeypatch.setattr("handlers.runtime.lambda_entry.SCHEDULE", declare(sample(function, retry=ONCE)))
        for name, value in environment(database_url, SHIFTLOCK_JOB="sample").items():
            monkeypatch.setenv(name, value)

    return set_up


EVENT = {"trigger": "rule", "time": "2026-11-29T02:00:07Z"}


def test_a_lambda_answers_with_the_run_and_its_result_and_a_duplicate_with_the_same(
    function_of: Callable[[str], None], database: psycopg.Connection
) -> None:
    function_of("succeed")
    first, second = (handler(EVENT, LambdaCall(request)) for request in ("first", "second"))
    run = {"job": "sample", "run": "2026-11-29T02:00Z", "result": {"attempt": 1}}
    assert first == run | {"outcome": "succeeded", "because": "the job returned", "attempt": 1}
    assert second == run | {"outcome": "already_done", "because": "the run has succeeded", "attempt": 0}
    assert database.execute("select compute from shiftlock.job_attempts").fetchall() == [("lambda:first",)]


def test_a_lambda_raises_when_its_job_failed_so_that_the_failure_destination_hears_of_it(
    function_of: Callable[[str], None],
) -> None:
    function_of("fail")
    with pytest.raises(AttemptFailed) as caught:
        handler(EVENT, LambdaCall("request"))
    assert str(caught.value) == (
        "sample 2026-11-29T02:00Z failed, attempt 1 of 1 failed: ValueError: the order has no price"
    )


def test_a_lambda_ends_its_job_ten_seconds_before_lambda_would(
    function_of: Callable[[str], None], database: psycopg.Connection
) -> None:
    function_of("sleep_in_python")
    began = time.monotonic()
    with pytest.raises(AttemptFailed) as caught:
        handler(EVENT, LambdaCall("request", seconds=10.3))
    assert 0.3 <= time.monotonic() - began < 8
    assert caught.value.report.result is Result.TIMED_OUT
    assert database.execute(ATTEMPTS).fetchall() == [(1, "timed_out")]
