"""`jobs break`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from handlers.schedule import SCHEDULE
from ops.local.aws.breaks import HOW, Breaks
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from ops.local.deployed import AWS, LOCK
from ops.local.file_lock import only_one
from ops.wording import minute
from tests.ops.command import Jobs

NOT_RUNNING = "jobs: no local AWS is running, and jobs are broken nowhere else: start one with `make run`\n"
DUE = """
select run_key, trigger from shiftlock.job_runs
where job_name = %s and status = 'pending' and next_run <= clock_timestamp() order by id
"""


@pytest.fixture
def breaks(tmp_path: Path) -> Iterator[Breaks]:
    """Where orders go while a `make run` holds this folder of data."""
    breaks = LocalAws(Settings(tmp_path / AWS)).breaks
    breaks.open()
    with only_one(tmp_path / LOCK):
        yield breaks


def test_without_a_local_aws_it_is_refused(jobs_without_database: Jobs, tmp_path: Path) -> None:
    done = jobs_without_database("break", "billing-run", "--how", "kill")
    assert (done.code, done.out, done.err) == (2, "", NOT_RUNNING)
    # One that was killed has left its folder and its lock behind, and holds the lock no more.
    left = LocalAws(Settings(tmp_path / AWS)).breaks
    left.open()
    (tmp_path / LOCK).touch()
    done = jobs_without_database("break", "billing-run", "--how", "kill")
    assert (done.code, done.err) == (2, NOT_RUNNING)
    assert list(left.folder.iterdir()) == []


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("job", ["billing-run", "session-cleanup"])
def test_the_order_is_left_for_the_next_start_and_what_will_happen_is_said(
    jobs_without_database: Jobs, breaks: Breaks, job: str, how: str
) -> None:
    done = jobs_without_database("break", job, "--how", how)
    assert (done.code, done.err) == (0, "")
    assert breaks.ordered(f"shiftlock-dev-{job}") == how
    what, when, watch = done.out.splitlines()
    assert what.startswith(f"the next start of {job} ")
    coming = SCHEDULE.find(job).schedule.next(datetime.now(UTC))
    assert coming is not None
    assert when.startswith(f"its next tick is {minute(coming)}; ")
    assert "`jobs show RUN`" in watch


def test_now_makes_the_newest_tick_without_a_run_due(
    jobs_without_database: Jobs, breaks: Breaks, tmp_path: Path, database_url: str, database: psycopg.Connection
) -> None:
    (tmp_path / "database-url").write_text(f"{database_url}\n")
    assert jobs_without_database("migrate").code == 0
    for number in (1, 2):
        done = jobs_without_database("break", "report-aggregation", "--how", "oom", "--now")
        assert (done.code, done.err) == (0, "")
        assert done.out.splitlines()[1].startswith(f"run {number} for ")
    schedule = SCHEDULE.find("report-aggregation").schedule
    newest = schedule.previous(datetime.now(UTC))
    assert newest is not None
    before = schedule.previous(newest.replace(minute=0))
    assert before is not None
    due = database.execute(DUE, ("report-aggregation",)).fetchall()
    assert due == [(minute(newest), "manual"), (minute(before), "manual")]
    assert breaks.ordered("shiftlock-dev-report-aggregation") == "oom"


@pytest.mark.parametrize(("job", "started"), [("inventory-pull", "inventory-pull_worker"), ("image-resize",) * 2])
def test_what_messages_start_is_broken_when_the_next_one_comes(
    jobs_without_database: Jobs, breaks: Breaks, job: str, started: str
) -> None:
    done = jobs_without_database("break", job, "--how", "kill")
    assert (done.code, done.err) == (0, "")
    assert breaks.ordered(f"shiftlock-dev-{started}") == "kill"
    assert (
        f"a message starts it; `jobs queue show {job}` says whether one waits, and `jobs queue send {job}" in done.out
    )
    done = jobs_without_database("break", job, "--how", "kill", "--now")
    assert (done.code, done.err) == (
        2,
        f"jobs: --now: {job} has no ticks; leave it out, and `jobs queue send {job} JSON --key KEY` starts it, or "
        f"`jobs queue redrive {job}` where it has dead letters\n",
    )


def test_a_way_to_break_that_is_not_known_is_refused_with_the_known(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("break", "billing-run", "--how", "explode")
    assert (done.code, done.out) == (2, "")
    assert "'explode' is not one of 'kill', 'oom', 'never-start', 'timeout'" in done.err


def test_an_unknown_job_is_refused_with_the_nearest(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("break", "biling-run", "--how", "kill")
    assert (done.code, done.err) == (2, "jobs: unknown job 'biling-run': did you mean billing-run?\n")
