"""`jobs list` and `jobs next`."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from handlers.declaration.duration import hours
from handlers.declaration.placement import place
from handlers.declaration.run_key import tick_key
from handlers.guard.errors import SchemaTooOld
from handlers.guard.session import SCHEMA_NEEDED
from handlers.schedule import SCHEDULE
from tests.guard.holders import claimed, guard_on, request
from tests.ops.command import Jobs
from tests.runtime.running import run, sample

JOB = SCHEDULE.find("session-cleanup")
# The schedule's own job, but for what it does.
OF_JOB = replace(sample("succeed"), name=JOB.name, schedule=JOB.schedule)
START = datetime(2026, 11, 28, 22, 50, tzinfo=UTC)


def test_the_list_says_of_each_job_when_where_and_why(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("list")
    header, *rows = done.out.splitlines()
    assert (done.code, done.err, len(rows)) == (0, "", len(SCHEDULE))
    assert header.split("  ")[0] == "job"
    assert "last run" not in header
    for job, row in zip(SCHEDULE, rows, strict=True):
        placement = place(job)
        when = job.schedule.expression if job.scheduled else "by message"
        for part in (job.name, when, job.schedule.zone or "UTC" if job.scheduled else "", placement.compute):
            assert part in row
        assert row.endswith(placement.because)


def test_the_next_tick_is_shown_in_utc_and_in_the_zone_of_the_job(jobs_without_database: Jobs) -> None:
    before = datetime.now(UTC)
    listed = json.loads(jobs_without_database("list", "--json").out)
    after = datetime.now(UTC)
    for job, record in zip(SCHEDULE, listed, strict=True):
        if not job.scheduled:
            assert [record[name] for name in ("schedule", "zone", "next_tick", "next_tick_local")] == [None] * 4
            continue
        tick = datetime.fromisoformat(record["next_tick"])
        assert tick in (job.schedule.next(before), job.schedule.next(after))
        assert datetime.fromisoformat(record["next_tick_local"]) == tick


def test_a_job_without_a_schedule_has_no_tick_to_come(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("next", "image-resize")
    assert (done.code, done.out) == (0, "no tick follows: image-resize is started by messages\n")


def test_the_list_shows_the_last_run_of_each_job_and_plans_are_none(jobs: Jobs, database_url: str) -> None:
    run(OF_JOB, database_url)
    header, *rows = jobs("list").out.splitlines()
    assert "last run   at (UTC)" in header
    [of_job] = [row for row in rows if row.startswith(JOB.name)]
    assert "succeeded" in of_job
    assert json.loads(jobs("list", "--json").out)[0]["last_run"] is None


def test_the_last_run_is_the_latest_start_though_its_row_was_planned_before_others(
    jobs: Jobs, database_url: str
) -> None:
    tick = datetime(2026, 11, 29, 2, 0, tzinfo=UTC)
    run(OF_JOB, database_url, at=tick)
    run(OF_JOB, database_url, at=tick - hours(5), trigger="manual")
    run(OF_JOB, database_url, at=tick + timedelta(minutes=15))
    [record] = [each for each in json.loads(jobs("list", "--json").out) if each["job"] == JOB.name]
    assert record["last_run"]["run_key"] == "2026-11-29T02:15Z"


def test_a_skipped_run_is_listed_with_its_reason(jobs: Jobs, database_url: str) -> None:
    with guard_on(database_url) as guard:
        claimed(guard, request("2026-11-29T01:45Z", job=JOB.name))
        run(OF_JOB, database_url)
        assert "skipped: overlap" in jobs("runs").out
    [record] = [each for each in json.loads(jobs("list", "--json").out) if each["job"] == JOB.name]
    assert (record["last_run"]["status"], record["last_run"]["skip_reason"]) == ("skipped", "overlap")


@pytest.mark.parametrize(
    ("url", "note"),
    [
        ("host=/nonexistent dbname=ledger", "database ledger at /nonexistent:5432 unavailable: "),
        (None, str(SchemaTooOld(0, SCHEMA_NEEDED))),
    ],
)
def test_a_ledger_that_cannot_be_read_costs_one_line_and_no_list(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, database: psycopg.Connection, url: str | None, note: str
) -> None:
    database.execute("drop schema shiftlock cascade")
    if url is not None:
        monkeypatch.setenv("SHIFTLOCK_DATABASE_URL", url)
    done = jobs("list")
    assert done.code == 0
    assert done.err.startswith(f"jobs: last runs are not shown: {note}")
    assert done.err.count("\n") == 1
    assert len(done.out.splitlines()) == 1 + len(SCHEDULE)


def test_ticks_of_all_jobs_come_in_the_order_of_time(jobs_without_database: Jobs) -> None:
    end = START + hours(8)
    expected = sorted(
        (tick, place, job.name) for place, job in enumerate(SCHEDULE) for tick in job.schedule.between(START, end)
    )
    done = jobs_without_database("next", "--from", START.isoformat(), "--count", str(len(expected)))
    assert [(line.split()[0], line.split()[-1]) for line in done.out.splitlines()[1:]] == [
        (tick_key(tick), name) for tick, _, name in expected
    ]


def test_a_tick_is_shown_by_the_clocks_of_its_zone(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("next", "billing-run", "--from", "2026-11-28T23:00Z", "--count", "2")
    assert done.out == (
        "tick               local time           zone         job\n"
        "2026-11-28T23:00Z  2026-11-29 02:00+03  Asia/Riyadh  billing-run\n"
        "2026-11-29T23:00Z  2026-11-30 02:00+03  Asia/Riyadh  billing-run\n"
    )


def test_ticks_are_given_to_machines_in_both_times(jobs_without_database: Jobs) -> None:
    done = jobs_without_database("next", "billing-run", "--from", "2026-11-28T23:00Z", "--count", "1", "--json")
    assert json.loads(done.out) == [
        {
            "job": "billing-run",
            "tick": "2026-11-28T23:00:00Z",
            "local_time": "2026-11-29T02:00:00+03:00",
            "zone": "Asia/Riyadh",
            "spread_seconds": 0.0,
        }
    ]


def test_without_a_time_the_coming_ticks_begin_now_and_say_how_far_off_they_are(jobs_without_database: Jobs) -> None:
    before = datetime.now(UTC)
    header, first, *_ = jobs_without_database("next", JOB.name).out.splitlines()
    assert header.endswith("from now")
    assert first.split()[0] in {tick_key(tick) for tick in JOB.schedule.between(before, before + hours(1))}


def test_that_no_tick_follows_is_said(jobs_without_database: Jobs) -> None:
    assert jobs_without_database("next", "--from", "9999-12-31T00:00Z").out == "no tick follows\n"
    assert jobs_without_database("next", "--from", "9999-12-31T00:00Z", "--json").out == "[]\n"
