"""`jobs doctor`, on real databases that are well, set up badly or hold stuck runs."""

import json
import os
from contextlib import ExitStack
from datetime import timedelta

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from handlers.guard.lock import lock_key, register_key
from handlers.guard.migrate import shipped
from handlers.guard.request import Ending
from handlers.schedule import SCHEDULE
from ops.check_server import database as judge_database
from ops.check_server import encryption, skew
from ops.local.postgres import server
from tests.guard.holders import claimed, guard_on, request, wait_until
from tests.ops.command import Jobs, by_process
from tests.ops.findings import findings, problems

CHECKS = [
    "database",
    "encryption",
    "clocks",
    "connections",
    "schema",
    "sessions",
    "jobs",
    "paused jobs",
    "lock keys",
    "roles",
    "lost runs",
    "unknown runs",
    "overdue runs",
]
NEWEST = max(shipped())


def test_where_all_is_well_every_check_is_one_line_and_ok(well: Jobs) -> None:
    done = well("doctor")
    found = findings(done)
    assert (problems(done), list(found)) == ({}, CHECKS)
    assert ", PostgreSQL 1" in found["database"][1]
    assert " connected in " in found["database"][1]
    assert found["encryption"] == ("ok", "none, and nothing leaves this machine")
    assert found["schema"] == ("ok", f"at migration {NEWEST}")
    assert found["sessions"][1] == "direct: the server keeps a guard's lock, and drops it after 30 s of silence"
    assert found["jobs"][1] == f"all {len(SCHEDULE)} of the schedule are registered"
    assert found["lock keys"][1] == f"all {len(SCHEDULE)} are as derived"
    assert found["roles"][1] == "runner and reader may do what they have to, and no more"


def test_a_paused_job_is_shown_and_is_no_problem(well: Jobs, database: psycopg.Connection) -> None:
    assert findings(well("doctor"))["paused jobs"] == ("ok", "none")
    database.execute("update shiftlock.jobs set paused_at = '2026-11-29T02:00Z' where name = 'billing-run'")
    assert findings(well("doctor"))["paused jobs"] == (
        "ok",
        "billing-run since 2026-11-29 02:00:00 UTC; `jobs resume JOB` ends that",
    )


def test_machines_get_every_finding_and_the_same_exit_code(jobs: Jobs) -> None:
    done = jobs("doctor", "--json")
    records = json.loads(done.out)
    assert done.code == 1
    assert [record["check"] for record in records] == CHECKS
    [problem] = [record for record in records if not record["ok"]]
    assert problem == {
        "check": "jobs",
        "ok": False,
        "found": f"not registered: {', '.join(job.name for job in SCHEDULE)}",
        "what_to_do": "run `jobs migrate`",
    }


def test_a_database_out_of_reach_is_the_one_finding() -> None:
    done = by_process("host=/nonexistent dbname=ledger", "doctor")
    [(check, text)] = problems(done).items()
    assert check == "database"
    assert text.startswith("database ledger at /nonexistent:5432 unavailable: ")
    assert text.endswith("; check SHIFTLOCK_DATABASE_URL")
    assert done.out.count("\n") == 1


def test_without_a_ledger_what_needs_one_is_left_out(jobs: Jobs, database: psycopg.Connection) -> None:
    database.execute("drop schema shiftlock cascade")
    done = jobs("doctor")
    assert problems(done) == {"schema": "there is no ledger in this database; run `jobs migrate`"}
    assert list(findings(done)) == CHECKS[: CHECKS.index("schema") + 1]


def test_a_schema_older_than_the_code_is_a_problem_and_a_newer_one_is_said(
    well: Jobs, database: psycopg.Connection
) -> None:
    database.execute("insert into shiftlock.migrations (number, name) values (9999, 'of a newer release')")
    done = well("doctor")
    assert problems(done) == {}
    assert findings(done)["schema"][1] == f"at migration 9999, newer than this code, which knows {NEWEST}"
    database.execute("delete from shiftlock.migrations where number >= %s", [NEWEST])
    assert problems(well("doctor")) == {
        "schema": f"older than this code: {shipped()[NEWEST]} missing; run `jobs migrate`"
    }


def test_a_job_that_has_left_the_schedule_is_named_and_no_problem(well: Jobs, database_url: str) -> None:
    with guard_on(database_url) as guard:
        guard.finish(claimed(guard, request()), Ending(outcome="succeeded", status="succeeded"))
    done = well("doctor")
    assert problems(done) == {}
    assert findings(done)["jobs"][1].endswith("; no longer in the schedule: nightly")


def test_a_lock_key_that_somebody_has_changed_is_a_problem(well: Jobs, database: psycopg.Connection) -> None:
    register_key(database, "nightly/north")
    database.execute("update shiftlock.lock_keys set lock_key = 5 where owner = 'nightly/north'")
    assert problems(well("doctor")) == {
        "lock keys": f"nightly/north has 5, its name gives {lock_key('nightly/north')};"
        " somebody has changed them: put them back while no run of these goes on"
    }


def test_a_clock_that_is_wrong_here_or_there_is_a_problem(well: Jobs, database: psycopg.Connection) -> None:
    # What the server's clock says to everybody who asks in this database.
    database.execute("create schema wrong")
    database.execute("""
        create function wrong.clock_timestamp() returns timestamptz volatile
        return pg_catalog.clock_timestamp() - interval '1 hour'
    """)
    name = sql.Identifier(database.info.dbname)
    database.execute(sql.SQL("alter database {} set search_path = wrong, pg_catalog").format(name))
    text = problems(well("doctor"))["clocks"]
    assert text.startswith("the database is 1 h behind; set this machine's clock: ")


@pytest.mark.parametrize(
    ("ahead", "doubt", "state", "said"),
    [
        (0.001, 0.002, "ok", "the same here and there, within 2 ms"),
        (-1.5, 0.001, "ok", "the database is 1.5 s behind"),
        (2.5, 1.0, "ok", "the database is 2.5 s ahead"),
        (2.5, 0.1, "problem", "the database is 2.5 s ahead"),
    ],
)
def test_clocks_are_apart_only_by_what_the_round_trip_cannot_explain(
    ahead: float, doubt: float, state: str, said: str
) -> None:
    finding = skew(timedelta(seconds=ahead), timedelta(seconds=doubt))
    assert (finding.ok, finding.found) == (state == "ok", said)


def test_versions_that_are_not_tested_are_a_problem() -> None:
    good = [major for major in range(9, 30) if judge_database("ledger", major, timedelta(seconds=1)).ok]
    assert good == [15, 16, 17, 18]


@pytest.mark.parametrize(
    ("host", "encrypted", "mode", "state", "said"),
    [
        ("/run/postgresql", False, "prefer", "ok", "none, and nothing leaves this machine"),
        ("localhost", False, "prefer", "ok", "none, and nothing leaves this machine"),
        ("::1", False, "prefer", "ok", "none, and nothing leaves this machine"),
        ("db.example.com", False, "prefer", "problem", "none: everybody on the way can read along"),
        ("db.example.com", True, "verify-full", "ok", "TLS, and the server has proved its name"),
        (
            "db.example.com",
            True,
            "require",
            "ok",
            "TLS, but anybody could be the server (sslmode=require): verify-full checks it",
        ),
    ],
)
def test_a_link_that_leaves_the_machine_must_be_encrypted(
    host: str, *, encrypted: bool, mode: str, state: str, said: str
) -> None:
    finding = encryption(host, encrypted=encrypted, mode=mode)
    assert (finding.ok, finding.found) == (state == "ok", said)


def test_a_server_that_is_nearly_full_is_a_problem() -> None:
    with server(None, fast=True, settings={"max_connections": "10"}) as url, ExitStack() as others:
        assert by_process(url, "migrate").code == 0
        assert problems(by_process(url, "doctor")) == {}
        for _ in range(6):
            other = others.enter_context(psycopg.connect(url, autocommit=True))
        wait_until(other, "select sum(numbackends) = 6 from pg_stat_database")  # the commands' sessions have ended
        text = problems(by_process(url, "doctor"))["connections"]
    assert text.startswith("7 of 7 are taken; a run takes two; raise max_connections, ")


def test_a_role_without_rights_is_a_problem(database_url: str, database: psycopg.Connection) -> None:
    guest = f"shiftlock_doctor_guest_{os.getpid()}"
    database.execute(sql.SQL("create role {}").format(sql.Identifier(guest)))
    try:
        done = by_process(make_conninfo(database_url, options=f"-c role={guest}"), "doctor")
    finally:
        database.execute(sql.SQL("drop role {}").format(sql.Identifier(guest)))
    assert problems(done) == {
        "rights": "permission denied for schema shiftlock; use the role that `jobs migrate` and the jobs use"
    }


def test_a_role_that_lacks_a_privilege_is_named_with_what_to_do(well: Jobs, database: psycopg.Connection) -> None:
    database.execute("revoke insert on shiftlock.run_steps from shiftlock_runner")
    done = well("doctor")
    assert problems(done) == {
        "roles": "role shiftlock_runner lacks insert on table run_steps; run `jobs migrate` as the ledger's owner"
    }
    assert well("migrate").code == 0
    assert problems(well("doctor")) == {}
