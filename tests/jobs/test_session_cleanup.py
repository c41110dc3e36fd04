"""Which sessions are deleted, and in what portions."""

import psycopg

from handlers.runtime.report import Result
from handlers.runtime.stop import Stop
from tests.jobs.fixture_types import FailOnce, RunJob

AT = "2026-12-04T12:00:00Z"  # a week after noon of the third day loaded
IDS = "select id from platform.sessions order by id"
TO_KEEP = """
select id from platform.sessions
where coalesce(ended_at, 'infinity') + interval '168 hours' >= '2026-12-04 12:00+00' order by id
"""
LIVE = "update platform.sessions set ended_at = null where id % 50 = 0"
TWELVE_THOUSAND_OLD = """
insert into platform.sessions (id, restaurant_id, device, started_at, ended_at)
select number, 1 + number % 30, 'guest', '2026-10-01 09:00+00', '2026-10-01 10:00+00'
from generate_series(1, 12000) as number
"""
RANGES_PER_ATTEMPT = """
select attempt, array_agg(step_key order by split_part(step_key, '-', 2)::bigint)
from shiftlock.run_steps join shiftlock.job_attempts using (run_id, fence) group by attempt order by attempt
"""


def test_sessions_that_ended_a_week_before_the_tick_go_and_live_ones_stay(
    platform: psycopg.Connection, run_job: RunJob
) -> None:
    platform.execute(LIVE)
    before = platform.execute(IDS).fetchall()
    to_keep = platform.execute(TO_KEEP).fetchall()
    report = run_job("session-cleanup", AT)
    assert platform.execute(IDS).fetchall() == to_keep
    assert report.value == {"before": "2026-11-27T12:00:00+00:00", "deleted": len(before) - len(to_keep)}
    assert 0 < len(to_keep) < len(before)


def test_a_session_that_ended_exactly_a_week_before_the_tick_stays(
    platform: psycopg.Connection, run_job: RunJob
) -> None:
    platform.execute("delete from platform.sessions")
    platform.execute(
        "insert into platform.sessions values (1, 1, 'guest', '2026-11-27 11:00+00', '2026-11-27 11:59:59.999+00'),"
        " (2, 1, 'guest', '2026-11-27 11:00+00', '2026-11-27 12:00+00'),"
        " (3, 1, 'guest', '2026-11-27 11:00+00', '2026-11-27 11:59:59.999+00')"
    )
    run_job("session-cleanup", AT)
    assert platform.execute(IDS).fetchall() == [(2,)]


def test_a_failure_keeps_the_portions_already_deleted_and_the_next_attempt_takes_the_rest(
    platform: psycopg.Connection, run_job: RunJob, fail_once: FailOnce
) -> None:
    platform.execute("delete from platform.sessions")
    platform.execute(TWELVE_THOUSAND_OLD)
    fail_once("sessions", "delete", "old.id = 7000")
    report = run_job("session-cleanup", AT)
    assert (report.result, report.attempt) == (Result.SUCCEEDED, 2)
    assert report.value["deleted"] == 7000
    assert platform.execute(IDS).fetchall() == []
    assert platform.execute(RANGES_PER_ATTEMPT).fetchall() == [
        (1, ["sessions:1-5000"]),
        (2, ["sessions:5001-10000", "sessions:10001-12000"]),
    ]


def test_a_cleanup_that_is_told_to_stop_ends_before_its_next_portion_and_goes_on_later(
    platform: psycopg.Connection, run_job: RunJob
) -> None:
    before = platform.execute(IDS).fetchall()
    stop = Stop()
    stop.request()
    stopped = run_job("session-cleanup", AT, stop=stop)
    assert stopped.result == Result.INTERRUPTED
    assert platform.execute(IDS).fetchall() == before
    assert run_job("session-cleanup", AT).result == Result.SUCCEEDED
    assert platform.execute(IDS).fetchall() == platform.execute(TO_KEEP).fetchall()
