"""`jobs serve`: the clock from the command line, over the shipped job table."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from handlers.declaration.signals import CLOCK, DIMENSIONS, ENVIRONMENT, JOB, NAMESPACE, SERVICE, SERVICE_NAME, Signal
from handlers.guard.lock import register
from handlers.schedule import SCHEDULE
from tests.ops.command import JOBS, environment
from tests.runtime.sandbox import LONG
from tests.runtime.test_clock import TELL, wait_for

JOB_NAME = "session-cleanup"
# A person wants the run of an earlier tick: no policy for late starts has a say in it.
WANTED = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, next_run)
select name, '2026-12-05T12:00Z', lock_key, '2026-12-05T12:00Z', 'manual', 'pending', clock_timestamp()
from shiftlock.jobs where name = %s
"""
RUN = "select status, attempt, trigger from shiftlock.job_runs where run_key = '2026-12-05T12:00Z'"
# Enough for a dozen batches: the word to stop comes in before the last of them, however slow the machine is.
MANY_OLD_SESSIONS = """
insert into platform.sessions (id, restaurant_id, device, started_at, ended_at)
select 1000000000 + number, 1, 'guest', '2020-01-01', '2020-01-02' from generate_series(1, 60000) as number
"""
OUTCOMES = """
select outcome from shiftlock.job_attempts join shiftlock.job_runs on id = run_id where run_key = '2026-12-05T12:00Z'
"""
# The file that `make run` leaves is looked for elsewhere.
WITH_FILE = """
import sys
from pathlib import Path
from ops import configured
from ops.cli import call
configured.LOCAL_URL = Path(sys.argv[1])
sys.exit(call(["serve"]))
"""


@pytest.fixture
def ledger(platform_url: str, database: psycopg.Connection) -> psycopg.Connection:
    """The ledger of a platform, with a run that is due; it tells of each change of state."""
    register(database, [job.name for job in SCHEDULE])
    database.execute(WANTED, [JOB_NAME])
    database.execute(TELL)
    database.execute("listen moves")
    return database


@contextmanager
def started(command: list[str], environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The command as the leader of a process group, as a terminal starts it; at the end nothing of it is left."""
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    family = psutil.Process(process.pid)
    try:
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            for one in (*family.children(recursive=True), family):
                one.kill()
        sys.stderr.write("\n".join(process.communicate()))  # pytest shows it when the test fails


def test_it_runs_what_is_due_on_the_ledger_of_make_run_and_sigterm_ends_it_with_0(
    platform_url: str, ledger: psycopg.Connection, tmp_path: Path
) -> None:
    (tmp_path / "database-url").write_text(f"{platform_url}\n")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SHIFTLOCK_")}
    command = [sys.executable, "-c", WITH_FILE, str(tmp_path / "database-url")]
    with started(command, environ) as process:
        wait_for(ledger, f"{JOB_NAME} succeeded")
        process.terminate()
        out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err.count("\n")) == (0, 1)
    assert err.startswith(f"starting {len(SCHEDULE)} jobs of local as they fall due; Ctrl-C stops this")
    assert ledger.execute(RUN).fetchall() == [("succeeded", 1, "manual")]
    lines = [json.loads(line) for line in out.splitlines()]
    # What the dead-man alarm of an environment with a clock looks at.
    [made, *_] = [line for line in lines if Signal.CLOCK_BEAT in line]
    [directive] = made["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], {*directive["Dimensions"][0]}) == (NAMESPACE, {*DIMENSIONS})
    assert (made[SERVICE], made[ENVIRONMENT], made[JOB]) == (SERVICE_NAME, "local", CLOCK)
    assert made[Signal.CLOCK_BEAT] == [1.0]


def test_ctrl_c_lets_a_running_job_come_to_a_safe_point_and_leaves_no_process(
    platform_url: str, ledger: psycopg.Connection
) -> None:
    ledger.execute(MANY_OLD_SESSIONS)
    with started([str(JOBS), "serve"], environment(platform_url)) as process:
        with psycopg.connect(platform_url) as other:
            other.execute("lock table platform.sessions in access exclusive mode")
            wait_for(ledger, f"{JOB_NAME} running")
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            commands = [" ".join(one.cmdline()) for one in family]
            os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=LONG)
        assert process.returncode == 0
        assert not [one for one in family if one.is_running()]
    assert any(f"task_entry {JOB_NAME}" in command for command in commands)
    assert not [command for command in commands if platform_url in command or "postgresql:" in command]
    assert ledger.execute(OUTCOMES).fetchall() == [("interrupted",)]
