"""`jobs pause` and `jobs resume`."""

import json

import psycopg

from handlers.declaration.cron import every
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.runtime.report import Result
from handlers.schedule import SCHEDULE
from ops.commands.pause import meanwhile
from tests.ops.command import Jobs
from tests.runtime.running import TICK, run, sample

PAUSED = "select name from shiftlock.jobs where paused_at is not null"


def test_a_paused_job_starts_no_tick_until_it_is_resumed(jobs: Jobs, database: psycopg.Connection) -> None:
    done = jobs("pause", "billing-run")
    assert (done.code, done.out.startswith("billing-run is paused: what is due ends skipped")) == (0, True)
    assert database.execute(PAUSED).fetchall() == [("billing-run",)]
    done = jobs("resume", "billing-run")
    assert (done.code, done.out.startswith("billing-run is resumed: its next tick is 20")) == (0, True)
    assert database.execute(PAUSED).fetchall() == []


def test_messages_of_a_paused_job_wait(jobs: Jobs) -> None:
    assert jobs("pause", "image-resize").out == (
        "image-resize is paused: messages wait in the ledger and start after the pause, and what runs goes on; "
        "`jobs resume image-resize` ends the pause\n"
    )
    both = Job("both", target="a.b:run", schedule=every(hours=1), queue=Queue(), longest_run=minutes(1))
    assert meanwhile(both).startswith(
        "what is due ends skipped; messages wait in the ledger and start after the pause,"
    )


def test_that_a_job_is_paused_is_seen_in_the_list(jobs: Jobs) -> None:
    jobs("pause", "billing-run")
    shown = {job["job"]: job["paused"] for job in json.loads(jobs("list", "--json").out)}
    assert [job for job, paused in shown.items() if paused] == ["billing-run"]
    assert len(shown) == len(SCHEDULE)
    [line] = [line for line in jobs("list").out.splitlines() if line.startswith("billing-run")]
    assert "paused" in line


def test_what_is_so_already_is_refused_with_what_to_do(jobs: Jobs) -> None:
    assert jobs("resume", "billing-run").err == (
        "jobs: billing-run is not paused; `jobs pause billing-run` does that\n"
    )
    jobs("pause", "billing-run")
    done = jobs("pause", "billing-run")
    assert (done.code, done.err) == (
        2,
        "jobs: billing-run is paused already; `jobs resume billing-run` ends that\n",
    )


def test_an_unknown_job_is_refused_with_the_nearest(jobs: Jobs) -> None:
    for command in ("pause", "resume"):
        done = jobs(command, "biling-run")
        assert (done.code, done.err) == (2, "jobs: unknown job 'biling-run': did you mean billing-run?\n")


def test_the_tick_of_a_paused_job_is_a_row_and_its_manual_run_goes_on(
    database_url: str, database: psycopg.Connection
) -> None:
    run(sample("succeed"), database_url, at=None, trigger="manual")
    database.execute("update shiftlock.jobs set paused_at = clock_timestamp()")
    assert run(sample("succeed"), database_url, at=TICK).result is Result.PAUSED
    assert run(sample("succeed"), database_url, at=None, trigger="manual").result is Result.SUCCEEDED
    reasons = database.execute("select skip_reason from shiftlock.job_runs where status = 'skipped'").fetchall()
    assert reasons == [("paused",)]
