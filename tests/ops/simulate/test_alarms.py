"""When a person is called."""

from datetime import datetime, timedelta

from handlers.declaration.cron import cron, every
from handlers.declaration.duration import hours, minutes, seconds
from ops.simulate.alarms import Page, pages, told
from ops.simulate.history import Run
from tests.ops.simulate.scenes import START, job

HOURLY = job(schedule=every(hours=1), start_within=minutes(10))
END = START + hours(3)


def run(tick: datetime, status: str = "succeeded", *, delay: timedelta = seconds(0), attempts: int = 1) -> Run:
    started = tick + delay
    return Run("tick", f"{tick:%H:%M}", tick, "rule", status, None, started, started + minutes(1), attempts, 0, 0)


def called(*runs: Run) -> list[tuple[datetime, str]]:
    return [(page.at, page.alarm) for page in pages([HOURLY], runs, START, END)]


def test_nobody_is_called_while_all_goes_well() -> None:
    assert called(*(run(START + hours(n), delay=minutes(10)) for n in range(3))) == []


def test_a_run_that_has_failed_or_that_nobody_knows_the_end_of_calls_when_it_ends() -> None:
    runs = (run(START, "failed", attempts=3), run(START + hours(1), "unknown"), run(START + hours(2)))
    assert called(*runs)[:2] == [(START + minutes(1), "failed"), (START + minutes(61), "unknown")]


def test_a_run_that_starts_later_than_it_may_calls_when_it_starts() -> None:
    late = (minutes(10) + seconds(1), minutes(10), seconds(0))
    runs = [run(START + hours(n), delay=delay) for n, delay in enumerate(late)]
    assert called(*runs) == [(START + minutes(10) + seconds(1), "late")]


def test_what_comes_while_the_alarm_is_on_calls_nobody_again() -> None:
    failures = [run(START + minutes(n), "failed") for n in (0, 2, 7, 11, 21)]
    first, second = [page for page in pages([HOURLY], failures, START, START + minutes(30)) if page.alarm == "failed"]
    assert (first.at, first.more, first.until) == (START + minutes(1), 3, START + minutes(12))
    assert (second.at, second.more) == (START + minutes(22), 0)


def test_silence_calls_once_for_each_time_that_no_run_succeeds_for_a_whole_window() -> None:
    # An hour's gap, 10 min to start, 10 s to run, and a period: 80 min in periods of 5.
    runs = (run(START), run(START + hours(2)))
    assert called(*runs) == [(START + minutes(1 + 80), "silent")]
    assert called() == [(START + minutes(80), "silent")]


def test_a_job_that_is_due_monthly_has_no_alarm_for_silence() -> None:
    monthly = job(schedule=cron("0 0 1 * ? *"))
    assert pages([monthly], [], START, START + timedelta(days=100)) == []


def test_a_call_is_told_in_one_line() -> None:
    page = Page(START, "tick", "failed", "run 08:00 failed, 3 attempts", 2, START + minutes(9))
    assert told(page) == "tick failed: run 08:00 failed, 3 attempts, and 2 more until 2026-03-02T08:09Z"
