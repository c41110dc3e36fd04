"""`jobs simulate`."""

import json
from datetime import UTC, datetime

import pytest

from handlers.schedule import SCHEDULE
from tests.ops.command import Jobs

DAY = ("simulate", "--from", "2026-03-02", "--to", "2026-03-03")
TROUBLE = (*DAY, "--outage", "02:00..05:00", "--fail", "session-cleanup:1", "--duplicate", "0.2", "--seed", "4")


def test_it_says_per_job_what_became_of_its_ticks_and_when_a_person_is_called(jobs_without_database: Jobs) -> None:
    done = jobs_without_database(*TROUBLE, "--pages", "2")
    headline, _, titles, *rows = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert "seed 4" in headline
    assert titles.split()[:3] == ["job", "ticks", "succeeded"]
    begin, end = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
    ticks = [(job.name, len(list(job.schedule.between(begin, end)))) for job in SCHEDULE]
    assert ("session-cleanup", 96) in ticks
    assert [row.split()[:2] for row in rows[: len(SCHEDULE)]] == [[name, str(count)] for name, count in ticks]
    assert "12 too_late" in rows[ticks.index(("session-cleanup", 96))]
    said, first, second, rest = rows[len(SCHEDULE) + 1 :]
    assert said.startswith("a person would have been called ")
    assert "session-cleanup failed: run 2026-03-02T00:00Z failed, 3 attempts" in first
    assert second.startswith("  2026-03-02 ")
    assert rest.startswith("  and ")
    assert rest.endswith(" times more")


def test_machines_get_all_of_it_and_the_same_each_time(jobs_without_database: Jobs) -> None:
    first, again = (jobs_without_database(*TROUBLE, "--json").out for _ in range(2))
    told = json.loads(first)
    assert first == again
    assert (told["from"], told["to"], told["seed"]) == ("2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z", 4)
    [cleanup] = [each for each in told["jobs"] if each["job"] == "session-cleanup"]
    assert (cleanup["ticks"], cleanup["failed"], cleanup["skipped"], cleanup["unheard"]) == (
        96,
        84,
        {"too_late": 12},
        12,
    )
    assert {page["alarm"] for page in told["pages"]} == {"failed", "late", "silent"}


def test_a_single_job_is_simulated_with_a_clock_of_our_own(jobs_without_database: Jobs) -> None:
    done = jobs_without_database(*DAY, "--clock", "--job", "report-aggregation")
    assert done.code == 0
    assert "a clock of our own starts them" in done.out
    assert "session-cleanup" not in done.out
    assert done.out.endswith("a person would have been called 0 times\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "2026-01-02", "--to", "2026-01-01"], "allowed is a --to that comes later"),
        (["--from", "2026-01-01", "--to", "2032-01-01"], "allowed is 5 years at most"),
        (["--from", "2026-13-01", "--to", "2027-01-01"], "allowed is a date such as 2026-11-29, or a time such as"),
        (
            ["--from", "2026-01-01", "--to", "2026-01-02T00:00"],
            "allowed is a date such as 2026-11-29, or a time such as",
        ),
        ([*DAY[1:], "--outage", "5..2"], "'5..2': allowed is 02:00..05:00 for each day in UTC, or two dates or times"),
        ([*DAY[1:], "--outage", "2027-01-01..2027-01-02"], "allowed is one between 2026-03-02T00:00Z and 2026-03-03T"),
        ([*DAY[1:], "--lost", "1.5"], "'1.5': allowed is a number from 0 to 1, such as 0.05"),
        ([*DAY[1:], "--fail", "billing-run:nan"], "'nan': allowed is a number from 0 to 1, such as 0.05"),
        ([*DAY[1:], "--fail", "biling-run:0.2"], "unknown job 'biling-run': did you mean billing-run?"),
        ([*DAY[1:], "--job", "biling-run"], "unknown job 'biling-run': did you mean billing-run?"),
        ([*DAY[1:], "--clock", "--lost", "0.1"], "a clock of our own needs none"),
        (["--from", "2026-01-01"], "Missing option '--to'"),
    ],
)
def test_bad_input_is_answered_in_one_line(jobs_without_database: Jobs, arguments: list[str], said: str) -> None:
    done = jobs_without_database("simulate", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
