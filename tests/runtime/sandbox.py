"""The real entries as real processes, on a database of the test's own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.guard.holders import wait_until

REPOSITORY = Path(__file__).parents[2]
LONG = 120.0  # seconds; how long a test waits for what takes one
MOMENT = 0.02

WAITING_FOR_A_ROW = "select count(*) from pg_locks where not granted"
HOLDER_IS_GONE = """
select not exists (
    select from shiftlock.job_runs as run join pg_stat_activity as holder on holder.pid = run.backend_pid
    where run.job_name = %s and run.status = 'running'
)
"""


def environment(url: str | None, **more: str) -> dict[str, str]:
    """The variables of a task or function; a None takes one away."""
    variables = {"PATH": os.environ["PATH"], "SHIFTLOCK_ENVIRONMENT": "test", "POWERTOOLS_LOG_LEVEL": "INFO"}
    return variables | ({} if url is None else {"SHIFTLOCK_DATABASE_URL": url}) | more


class Task(subprocess.Popen[str]):
    """A task process of a job for the event of a time (ISO 8601)."""

    def __init__(self, job: str, url: str | None, at: str, **variables: str) -> None:
        super().__init__(
            [sys.executable, "-m", "handlers.runtime.task_entry", job],
            env=environment(url, SHIFTLOCK_TRIGGER="rule", SHIFTLOCK_EVENT_TIME=at, **variables),
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> "Ended":
        """Wait for its end."""
        out, err = self.communicate(timeout=LONG)
        return Ended(self.returncode, out, err)


class Ended:
    """What a process left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.err = code, err
        lines = [json.loads(line) for line in out.splitlines()]
        self.logs = [line for line in lines if "level" in line]
        self.answers = [line["answer"] for line in lines if "answer" in line]

    @property
    def above_info(self) -> list[dict[str, Any]]:
        """The log lines that a person would be shown."""
        return [line for line in self.logs if line["level"] not in ("DEBUG", "INFO")]


def run_task(job: str, url: str | None, at: str, **variables: str) -> Ended:
    """Start a task and wait for its end."""
    return Task(job, url, at, **variables).end()


def wait_until_blocked(task: Task, database: psycopg.Connection) -> None:
    """Wait until the task's statement waits for a row that somebody has locked."""
    while database.execute(WAITING_FOR_A_ROW).fetchone() == (0,):
        with suppress(subprocess.TimeoutExpired):
            task.wait(MOMENT)
            raise AssertionError(f"the task ended before it was held: {task.communicate()}")


def wait_until_holder_is_gone(job: str, database: psycopg.Connection) -> None:
    """Wait until the server has noticed that the holder of the job's run is dead.

    Its lock is free a moment before its session is gone, and for that moment a claim would take it for alive.
    """
    wait_until(database, HOLDER_IS_GONE, job)


@contextmanager
def invoice_held(url: str, restaurant: int) -> Iterator[psycopg.Connection]:
    """Keep the billing run from going on at a restaurant, until the end or the connection's rollback."""
    with psycopg.connect(url) as holder:
        holder.execute(
            "insert into platform.invoices (restaurant_id, day, currency, delivered_orders, sales_minor, "
            "refunds_minor, plan_fee_minor, commission_minor, vat_minor) "
            "values (%s, '2026-11-28', 'SAR', 0, 0, 0, 0, 0, 0)",
            (restaurant,),
        )
        yield holder
        holder.rollback()
