"""`jobs cancel`, `jobs resolve` and `jobs retry`, and what `jobs runs` and `jobs show` say of such runs."""

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import psycopg
import pytest

from handlers.guard.answers import Claimed, Queued
from handlers.guard.once import Guard
from handlers.guard.request import Ending, Outcome, Status
from tests.guard.holders import claimed, guard_on, request
from tests.ops.command import Done, Jobs, by_process
from tests.runtime.running import FORK, run, sample

JOB = "session-cleanup"
AT = "2026-12-05T12:00Z"
TICK = datetime.fromisoformat(AT)
OUTCOMES: dict[Status, Outcome] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
    "unknown": "timed_out",
    "pending": "interrupted",
}
Leave = Callable[[Guard], None]
ROW = "select status, error_msg from shiftlock.job_runs order by id limit 1"


@pytest.fixture
def guard(database_url: str) -> Iterator[Guard]:
    with guard_on(database_url) as guard:
        yield guard


def held(guard: Guard, **changes: Any) -> Claimed:
    """A run of a job of the schedule that goes on."""
    facts: dict[str, Any] = {"run_key": AT, "job": JOB, "tick": TICK}
    return claimed(guard, request(**(facts | changes)))


def ended(guard: Guard, status: Status, **changes: Any) -> None:
    """A run whose first attempt has left it in this state."""
    guard.finish(held(guard, **changes), Ending(outcome=OUTCOMES[status], status=status, error="it broke"))


def skipped(guard: Guard) -> None:
    """A tick that came while another run of its job went on."""
    other = held(guard, run_key="other")
    guard.claim(request(AT, job=JOB, tick=TICK, overlap="skip"))
    guard.finish(other, Ending(outcome="succeeded", status="succeeded"))


def refused(done: Done, said: str) -> bool:
    return (done.code, done.out, done.err) == (2, "", f"jobs: {said}\n")


def test_a_run_that_waits_for_its_time_is_cancelled_at_once(
    jobs: Jobs, guard: Guard, database: psycopg.Connection
) -> None:
    ended(guard, "pending")
    assert jobs("cancel", f"{JOB}@{AT}").out == f"run 1 ({JOB}@{AT}) is cancelled\n"
    assert database.execute(ROW).fetchone() == ("cancelled", "cancelled with `jobs cancel`")


def test_a_running_run_is_asked_to_end_and_shows_that_until_it_does(jobs: Jobs, guard: Guard) -> None:
    claim = held(guard)
    done = jobs("cancel", "1", "--reason", "wrong\nprices")
    within = re.fullmatch(
        rf"run 1 \({JOB}@{AT}\) is asked to end: holder-1 hears of it with its next heartbeat, within (\d+) s\n",
        done.out,
    )
    assert within is not None
    assert 20 < int(within[1]) <= 30
    assert "  running: asked to end  " in jobs("runs").out
    shown = jobs("show", "1").out
    assert "status        running: asked to end\n" in shown
    assert "asked to end  wrong prices\n" in shown
    assert json.loads(jobs("show", "1", "--json").out)["cancel_reason"] == "wrong prices"
    assert guard.renew(claim, None) == "wrong prices"


def test_a_job_that_goes_on_ends_with_its_next_heartbeat(
    jobs: Jobs, database_url: str, database: psycopg.Connection
) -> None:
    def body() -> None:
        os._exit(run(sample("wait_for_the_word"), database_url, lease=timedelta(seconds=3)).exit_code)

    database.execute("select pg_advisory_lock(1234, 1)")
    database.execute("listen begun")
    process = FORK.Process(target=body)
    process.start()
    try:
        assert list(database.notifies(timeout=30, stop_after=1))
        assert "is asked to end" in jobs("cancel", "1").out
        process.join(30)
        assert process.exitcode == 20
    finally:
        process.kill()
        process.join()
    assert database.execute(ROW).fetchone() == ("cancelled", "Interruption: cancelled with `jobs cancel`")


def test_of_a_holder_that_may_be_dead_it_is_said_that_nobody_may_hear(
    jobs: Jobs, guard: Guard, database: psycopg.Connection
) -> None:
    held(guard)
    database.execute("update shiftlock.job_runs set lease_until = clock_timestamp()")
    assert jobs("cancel", "1").out == (
        f"run 1 ({JOB}@{AT}) is to end, but holder-1 has lost its lease and may be dead: the job's next start ends it\n"
    )
    assert "cancelled" in by_process(guard.connect(), "run", JOB, "--tick", AT).out


@pytest.mark.parametrize(("verdict", "note"), [("succeeded", "all invoices are there"), ("failed", None)])
def test_a_person_settles_what_became_of_an_unknown_run(
    jobs: Jobs, guard: Guard, database: psycopg.Connection, verdict: str, note: str | None
) -> None:
    ended(guard, "unknown")
    done = jobs("resolve", "1", "--as", verdict, *(["--note", note] if note else []))
    assert (done.code, done.out, done.err) == (0, f"run 1 ({JOB}@{AT}) has {verdict}\n", "")
    assert database.execute(ROW).fetchone() == (verdict, note or f"resolved with `jobs resolve --as {verdict}`")


@pytest.mark.parametrize(
    ("leave", "command"),
    [
        pytest.param(partial(ended, status="failed"), "retry", id="failed"),
        pytest.param(partial(ended, status="cancelled"), "retry", id="cancelled"),
        pytest.param(skipped, "retry", id="skipped"),
        pytest.param(partial(ended, status="unknown"), "resolve --as retry", id="unknown"),
    ],
)
def test_a_run_that_is_due_again_starts_with_the_command_that_is_named(
    jobs: Jobs, platform_url: str, guard: Guard, database: psycopg.Connection, leave: Leave, command: str
) -> None:
    leave(guard)
    [(run_id,)] = database.execute("select id from shiftlock.job_runs where run_key = %s", [AT])
    done = jobs(*command.split(), f"{JOB}@{AT}")
    start = f"jobs run {JOB} --tick {AT}"
    assert done.err == ""
    assert done.out == (
        f"run {run_id} ({JOB}@{AT}) is due again: it starts with the next pass of the watchdog, or of a clock, "
        f"or now with `{start}`\n"
    )
    assert by_process(platform_url, *shlex.split(start)[1:]).code == 0
    assert f"run {run_id}\n" in (shown := jobs("show", f"{JOB}@{AT}").out).replace("  ", "")
    assert "status    succeeded\n" in shown


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"payload": {"restaurant": 42}}, id="a payload"),
        pytest.param({"run_key": "manual:7", "tick": None}, id="no tick"),
        pytest.param({"run_key": "2026-12-05T12:01Z", "tick": TICK + timedelta(minutes=1)}, id="no tick any more"),
    ],
)
def test_no_command_is_named_for_a_run_that_jobs_run_cannot_start(
    jobs: Jobs, guard: Guard, changes: dict[str, Any]
) -> None:
    ended(guard, "failed", **changes)
    assert jobs("retry", "1").out.endswith(
        " is due again: it starts with the next pass of the watchdog, or of a clock\n"
    )


def test_a_run_of_a_partition_is_started_with_its_partition(jobs: Jobs, platform_url: str, guard: Guard) -> None:
    ended(guard, "failed", partition="north", run_key=f"{AT}/north")
    start = f"jobs run {JOB} --tick {AT} --partition north"
    assert jobs("retry", "1").out.endswith(f"or now with `{start}`\n")
    assert by_process(platform_url, *shlex.split(start)[1:]).code == 0
    assert "status     succeeded\n" in jobs("show", "1").out


def test_a_run_whose_job_is_gone_starts_only_once_that_is_back(jobs: Jobs, guard: Guard) -> None:
    ended(guard, "failed", job="sample")
    assert jobs("retry", "1").out.endswith("or of a clock, once sample is in the schedule again\n")


ANY_RETRY = "only failed, skipped and cancelled runs can be treated so"
ANY_CANCEL = "only pending and running runs can be treated so"
ANY_RESOLVE = "only unknown runs can be treated so"


@pytest.mark.parametrize(
    ("status", "command", "said"),
    [
        ("succeeded", ["cancel", "1"], f"run 1 is succeeded: {ANY_CANCEL}; what has succeeded stays so"),
        ("failed", ["cancel", "1"], f"run 1 is failed: {ANY_CANCEL}; `jobs retry 1` has it tried again"),
        ("unknown", ["cancel", "1"], f"run 1 is unknown: {ANY_CANCEL}; `jobs resolve 1` says what became of it"),
        ("cancelled", ["cancel", "1"], f"run 1 is cancelled: {ANY_CANCEL}; `jobs retry 1` has it run after all"),
        ("pending", ["retry", "1"], f"run 1 is pending: {ANY_RETRY}; `jobs cancel 1` ends it before it starts"),
        ("unknown", ["retry", "1"], f"run 1 is unknown: {ANY_RETRY}; `jobs resolve 1` says what became of it"),
        (
            "failed",
            ["resolve", "1", "--as", "failed"],
            f"run 1 is failed: {ANY_RESOLVE}; `jobs retry 1` has it tried again",
        ),
    ],
)
def test_what_a_run_is_not_in_the_state_for_is_refused_with_what_can_be_done(
    jobs: Jobs, guard: Guard, database: psycopg.Connection, status: Status, command: list[str], said: str
) -> None:
    ended(guard, status)
    before = database.execute("select * from shiftlock.job_runs").fetchall()
    assert refused(jobs(*command), said)
    assert database.execute("select * from shiftlock.job_runs").fetchall() == before


def test_a_running_run_can_be_neither_retried_nor_resolved(jobs: Jobs, guard: Guard) -> None:
    held(guard)
    instead = "`jobs cancel 1` asks it to end"
    assert refused(jobs("retry", "1"), f"run 1 is running: {ANY_RETRY}; {instead}")
    assert refused(jobs("resolve", "1", "--as", "succeeded"), f"run 1 is running: {ANY_RESOLVE}; {instead}")


@pytest.mark.parametrize("command", [["cancel"], ["retry"], ["resolve", "--as", "failed"]], ids=lambda each: each[0])
def test_a_run_that_the_ledger_does_not_know_is_refused(jobs: Jobs, command: list[str]) -> None:
    assert refused(jobs(*command, "7"), "there is no run 7 in the ledger: `jobs runs` lists the newest")


def test_to_resolve_without_a_verdict_is_refused(jobs: Jobs) -> None:
    done = jobs("resolve", "1")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "Missing option '--as'" in done.err


def test_a_run_that_waits_for_another_of_its_partition_says_so(jobs: Jobs, guard: Guard) -> None:
    held(guard, partition="north", run_key=f"{AT}/north")
    later = TICK + timedelta(minutes=15)
    waiting = request(
        "2026-12-05T12:15Z/north", job=JOB, tick=later, partition="north", overlap="queue", holder="holder-2"
    )
    assert isinstance(guard.claim(waiting), Queued)
    _, second, first = jobs("runs").out.splitlines()
    assert f"  {JOB}/north  " in first
    assert f"  {JOB}/north  " in second
    assert "  pending: waits for the run before it  " in second
    shown = jobs("show", f"{JOB}@2026-12-05T12:15Z/north").out
    assert "status     pending: waits for the run before it\n" in shown
    assert "partition  north\n" in shown
    [record, _] = json.loads(jobs("runs", "--json").out)
    assert (record["partition"], record["waiting"], record["cancel_reason"]) == ("north", True, None)
