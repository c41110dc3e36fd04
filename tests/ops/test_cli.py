"""What every command has in common: it starts quickly, and says no in one line with a documented exit code."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from handlers.declaration.catalogue import InvalidSchedule
from handlers.guard.errors import SchemaTooOld
from handlers.guard.session import SCHEMA_NEEDED
from ops.configured import LOCAL_URL, URL, remedy
from ops.exits import refusal
from tests.ops.command import JOBS, Jobs, by_process

NOWHERE = "host=/nonexistent dbname=ledger"
LOADED = """
import sys
from pathlib import Path
from ops import configured
from ops.cli import call
configured.LOCAL_URL = Path("/nonexistent")
code = call(sys.argv[1:])
print(*sorted({"psycopg", "boto3", "aws_lambda_powertools", "aws_cdk", "rich"} & set(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("command", "loads"),
    [("--help", ""), ("list", "rich"), ("list --load", "rich"), ("next", "rich"), ("cron @daily", "rich")],
)
def test_a_command_that_needs_no_database_loads_no_driver(command: str, loads: str) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SHIFTLOCK_")}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *command.split()], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == loads


def test_help_names_every_command_and_is_what_no_argument_gets(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("--help")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.partition("Commands:\n")[2].splitlines()] == [
        "list",
        "next",
        "cron",
        "run",
        "runs",
        "show",
        "cancel",
        "resolve",
        "retry",
        "pause",
        "resume",
        "break",
        "doctor",
        "simulate",
        "migrate",
        "serve",
        "queue",
    ]
    assert jobs_without_database() == done


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lst"], "No such command 'lst'. Did you mean 'list'? See `jobs --help`."),
        (["run"], "Missing argument 'JOB'. See `jobs run --help`."),
        (["run", "session-cleanup", "now"], "Got unexpected extra argument(s) (now). See `jobs run --help`."),
        (["list", "--jsn"], "No such option: --jsn (Possible options: --dst, --json). See `jobs list --help`."),
        (
            ["next", "--count", "0"],
            "Invalid value for '--count': '0': allowed is a whole number from 1 to 1000. See `jobs next --help`.",
        ),
        (
            ["next", "--from", "2026-11-29"],
            "Invalid value for '--from': '2026-11-29': allowed is a time with its zone, such as 2026-11-29T02:00Z."
            " See `jobs next --help`.",
        ),
        (
            ["runs", "--status", "done"],
            "Invalid value for '--status': 'done' is not one of 'pending', 'running', 'succeeded', 'failed',"
            " 'unknown', 'skipped', 'cancelled'. See `jobs runs --help`.",
        ),
        (["next", "sesion-cleanup"], "unknown job 'sesion-cleanup': did you mean session-cleanup?"),
        (["run", "sesion-cleanup"], "unknown job 'sesion-cleanup': did you mean session-cleanup?"),
        (["runs", "sesion-cleanup"], "unknown job 'sesion-cleanup': did you mean session-cleanup?"),
        (["show", "sesion-cleanup@2026"], "unknown job 'sesion-cleanup': did you mean session-cleanup?"),
        (["show", "7"], "there is no run 7 in the ledger: `jobs runs` lists the newest"),
        (["show", "9" * 30], f"there is no run {'9' * 30} in the ledger: `jobs runs` lists the newest"),
        (
            ["show", "session-cleanup@2026-11-29T02:00Z"],
            "there is no run session-cleanup@2026-11-29T02:00Z in the ledger: `jobs runs session-cleanup` lists its"
            " runs",
        ),
        (
            ["show", "session-cleanup@9999-12-31T23:59:00-11:00"],
            "there is no run session-cleanup@9999-12-31T23:59:00-11:00 in the ledger: `jobs runs session-cleanup`"
            " lists its runs",
        ),
    ],
)
def test_bad_input_is_answered_in_one_line_that_says_what_is_allowed(
    jobs: Jobs, arguments: list[str], said: str
) -> None:
    done = jobs(*arguments)
    assert (done.code, done.out, done.err) == (2, "", f"jobs: {said}\n")


@pytest.mark.parametrize("given", ["abc", "@2026-11-29T02:00Z", "session-cleanup@", "-7", "1.5", "\u0667"])
def test_a_run_that_is_neither_id_nor_job_and_tick_is_answered_with_an_example_of_both(jobs: Jobs, given: str) -> None:
    done = jobs("show", "--", given)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"jobs: run {given!r}: allowed is an id such as 12, or JOB@TICK such as billing-run@2")
    assert done.err.count("\n") == 1


COMMANDS_ON_A_LEDGER = [
    ["runs"],
    ["show", "1"],
    ["cancel", "1"],
    ["resolve", "1", "--as", "failed"],
    ["retry", "1"],
    ["pause", "session-cleanup"],
    ["resume", "session-cleanup"],
    ["migrate"],
    ["serve"],
    ["run", "session-cleanup", "--tick", "2026-11-29T02:00Z"],
]


@pytest.mark.parametrize("arguments", COMMANDS_ON_A_LEDGER, ids=lambda arguments: arguments[0])
class TestWithoutAUsableLedger:
    """Each command that cannot do without."""

    def test_that_no_database_is_named_is_said_with_both_remedies(
        self, jobs_without_database: Jobs, arguments: list[str]
    ) -> None:
        done = jobs_without_database(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            "jobs: no database is named: set SHIFTLOCK_DATABASE_URL, or start a local one with `make run`\n"
        )

    def test_a_database_out_of_reach_is_named_with_the_reason(self, arguments: list[str]) -> None:
        done = by_process(NOWHERE, *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (69, "", 1)
        assert done.err.startswith("jobs: database ledger at /nonexistent:5432 unavailable: ")
        assert done.err.endswith("; check SHIFTLOCK_DATABASE_URL\n")

    def test_a_connection_string_that_cannot_be_read_is_refused_without_showing_it(
        self, jobs_without_database: Jobs, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
    ) -> None:
        monkeypatch.setenv(URL, "postgresql://jobs:secret@[")
        done = jobs_without_database(*arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "SHIFTLOCK_DATABASE_URL is no libpq connection string" in done.err
        assert "secret" not in done.err


@pytest.mark.parametrize("arguments", [each for each in COMMANDS_ON_A_LEDGER if each != ["migrate"]])
def test_a_ledger_without_its_schema_sends_the_reader_to_migrate(
    database_url: str, database: psycopg.Connection, arguments: list[str]
) -> None:
    database.execute("drop schema shiftlock cascade")
    done = by_process(database_url, *arguments)
    assert (done.code, done.out) == (70, "")
    assert done.err == f"jobs: {SchemaTooOld(0, SCHEMA_NEEDED)}\n"


def test_a_right_that_is_missing_is_said_in_one_line(database_url: str, database: psycopg.Connection) -> None:
    guest = f"shiftlock_guest_{os.getpid()}"
    database.execute(sql.SQL("create role {}").format(sql.Identifier(guest)))
    try:
        done = by_process(make_conninfo(database_url, options=f"-c role={guest}"), "runs")
    finally:
        database.execute(sql.SQL("drop role {}").format(sql.Identifier(guest)))
    assert (done.code, done.out) == (1, "")
    assert done.err == "jobs: the database refused: permission denied for schema shiftlock\n"


def test_a_local_ledger_is_found_by_the_file_that_make_run_leaves(
    jobs_without_database: Jobs, database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "database-url").write_text(f"{database_url}\n")
    assert jobs_without_database("runs").out == "no runs in the ledger\n"
    (tmp_path / "database-url").write_text(f"{NOWHERE}\n")
    done = jobs_without_database("runs")
    assert done.code == 69
    assert done.err.endswith("; `make run` starts it, or set SHIFTLOCK_DATABASE_URL to another\n")


def test_the_local_file_is_the_one_that_make_run_writes() -> None:
    from ops.local.deployed import FOLDER

    assert LOCAL_URL == FOLDER / "database-url"


@pytest.mark.parametrize(
    ("environ", "advice"),
    [
        ({"SHIFTLOCK_DATABASE_URL": "x"}, "check SHIFTLOCK_DATABASE_URL"),
        (
            {"SHIFTLOCK_DATABASE_HOST": "x"},
            "check SHIFTLOCK_DATABASE_HOST, and that its network lets this machine in",
        ),
    ],
)
def test_the_remedy_names_the_setting_that_was_used(environ: dict[str, str], advice: str) -> None:
    assert remedy(environ) == advice


def test_mistakes_in_the_job_table_are_an_answer_with_one_line_each() -> None:
    answer = refusal(InvalidSchedule(("a: memory 1: allowed is 128", "b: name 'B': allowed is kebab-case")))
    assert answer is not None
    assert answer.exit_code == 2
    assert answer.text.splitlines() == [
        "2 mistakes in the job table:",
        "  a: memory 1: allowed is 128",
        "  b: name 'B': allowed is kebab-case",
    ]


def test_a_mistake_in_the_code_is_no_answer() -> None:
    assert refusal(TypeError("a bug")) is None


def test_a_full_disk_is_said_in_one_line(database_url: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([JOBS, "next", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "jobs: No space left on device; nothing more is shown\n")


def test_a_reader_that_has_seen_enough_ends_the_command_quietly() -> None:
    with subprocess.Popen(
        [JOBS, "next", "--count", "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(60) == 1
