"""`jobs list --dst` and `--load`, and how a spread is shown."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO, TextIOWrapper
from typing import Any

import pytest
from rich.console import Console

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import cron, every
from handlers.declaration.duration import hours, minutes
from handlers.declaration.job import Job
from handlers.declaration.spread import offset
from infra.environments import ENVIRONMENTS
from ops.chart import DayChart
from ops.commands import list_jobs, list_load, next_ticks
from tests.ops.command import Jobs

FROM = ("--from", "2027-01-01T00:00Z")
BEGIN = datetime(2027, 1, 1, tzinfo=UTC)


def job(name: str, schedule: Any, **more: Any) -> Job:
    return Job(name, target="", schedule=schedule, **{"longest_run": minutes(1), **more})


def columns(line: str) -> list[str]:
    """The cells of a line of a table."""
    return re.split(" {2,}", line.strip())


@pytest.fixture
def scheduled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the commands know these jobs instead of the schedule's."""

    def use(*jobs: Job) -> None:
        for command in (list_jobs, next_ticks):
            monkeypatch.setattr(command, "SCHEDULE", Catalogue(jobs))

    return use


NIGHTS = (
    job("fixed", cron("30 2 * * ? *", zone="Europe/Berlin")),
    job("hourly", every(hours=1)),
    job("local", cron("0 * * * ? *", zone="America/New_York")),
    job("often", cron("0/20 2 * * ? *", zone="Europe/Berlin")),
)


def test_the_nights_of_the_coming_year_are_told_in_order_with_what_happens(
    jobs_without_database: Jobs, scheduled: Callable[..., None]
) -> None:
    scheduled(*NIGHTS)
    done = jobs_without_database("list", "--dst", *FROM)
    assert done.code == 0
    assert [columns(line) for line in done.out.splitlines()] == [
        ["job", "local time", "UTC", "zone", "what happens"],
        [
            *("local", "2027-03-14", "2027-03-14T05:00Z", "America/New_York"),
            "23 ticks instead of 24 on this day of 23 hours: clocks go from 02:00 to 03:00",
        ],
        [
            *("fixed", "2027-03-28 02:30", "2027-03-28T01:30Z", "Europe/Berlin"),
            "skipped: clocks go from 02:00 to 03:00",
        ],
        [
            *("often", "2027-03-28 02:00 to 02:40", "2027-03-28T01:00Z", "Europe/Berlin"),
            "3 ticks skipped: clocks go from 02:00 to 03:00",
        ],
        [
            *("fixed", "2027-10-31 02:30", "2027-10-31T00:30Z", "Europe/Berlin"),
            "clocks go from 03:00 to 02:00, so this time comes twice: it runs the first time alone",
        ],
        [
            *("often", "2027-10-31 02:00 to 02:40", "2027-10-31T00:00Z", "Europe/Berlin"),
            "clocks go from 03:00 to 02:00, so this time comes twice: the 3 ticks run the first time alone",
        ],
        [
            *("local", "2027-11-07", "2027-11-07T04:00Z", "America/New_York"),
            "25 ticks instead of 24 on this day of 25 hours: clocks go from 02:00 to 01:00",
        ],
    ]


def test_machines_get_each_time_of_a_night(jobs_without_database: Jobs, scheduled: Callable[..., None]) -> None:
    scheduled(*NIGHTS)
    found = json.loads(jobs_without_database("list", "--dst", *FROM, "--json").out)
    assert [(each["job"], each["effect"]) for each in found] == [
        ("local", "fewer"),
        ("fixed", "skipped"),
        ("often", "skipped"),
        ("fixed", "once"),
        ("often", "once"),
        ("local", "more"),
    ]
    assert (found[0]["ticks_of_the_day"], found[0]["usual_ticks"]) == (23, 24)
    assert found[1]["clock_change"] == "2027-03-28T01:00:00Z"
    assert found[2]["local_times"] == ["2027-03-28T02:00", "2027-03-28T02:20", "2027-03-28T02:40"]
    assert found[3]["utc"] == ["2027-10-31T00:30:00Z"]


def test_that_no_night_touches_a_job_is_said(jobs_without_database: Jobs, scheduled: Callable[..., None]) -> None:
    scheduled(job("utc", every(hours=1)))
    assert jobs_without_database("list", "--dst", *FROM).out == "no clock change touches a job before 2028-01-01\n"
    assert json.loads(jobs_without_database("list", "--dst", *FROM, "--json").out) == []


HERD = (
    job("a", cron("0 2 * * ? *"), longest_run=hours(1), memory=16_384),
    job("b", cron("0 2 * * ? *"), longest_run=hours(1), memory=30_720),
    job("c", cron("30 2 * * ? *"), longest_run=hours(1), memory=2048),
    job("d", cron("15 7 * * ? *")),
)


def test_a_day_is_drawn_by_hour_and_minute_with_its_crowds_and_its_vcpu(
    jobs_without_database: Jobs, scheduled: Callable[..., None]
) -> None:
    scheduled(*HERD)
    done = jobs_without_database("list", "--load", *FROM)
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0] == "starts in each minute from 2027-01-01T00:00Z to 2027-01-02T00:00Z, and in each hour"
    assert lines[1].split() == [":00", ":15", ":30", ":45"]
    assert len(lines[2:26]) == 24
    assert lines[4] == "02:00  ▂" + "·" * 29 + "▁" + "·" * 29 + "     3"
    assert lines[9] == "07:00  " + "·" * 15 + "▁" + "·" * 44 + "     1"
    assert lines[10] == "08:00  " + "·" * 60 + "     0"
    assert lines[27].split() == ["busiest", "minute", "starts", "jobs"]
    assert lines[28].split("  ")[-1] == "a, b"
    assert lines[-1] == (
        "dev, staging, prod: at most 6.25 vCPU of Fargate at once, from 2027-01-01T02:30Z on (b 4, a 2, c 0.25), "
        "which passes the quota of 6"
    )


def test_a_quiet_day_says_so(jobs_without_database: Jobs, scheduled: Callable[..., None]) -> None:
    scheduled(job("d", cron("15 7 * * ? *")))
    lines = jobs_without_database("list", "--load", *FROM).out.splitlines()
    assert lines[-3:] == [
        "no two jobs start in the same minute",
        "",
        "dev, staging, prod: nothing runs on Fargate",
    ]


def test_machines_get_the_starts_and_the_peak_of_each_environment(
    jobs_without_database: Jobs, scheduled: Callable[..., None]
) -> None:
    scheduled(*HERD)
    found = json.loads(jobs_without_database("list", "--load", *FROM, "--json").out)
    assert (found["from"], found["to"]) == ("2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z")
    assert found["starts"][0] == {"minute": "2027-01-01T02:00:00Z", "starts": 2, "jobs": ["a", "b"]}
    assert [each["starts"] for each in found["starts"]] == [2, 1, 1]
    assert found["fargate"][0] == {
        "environment": "dev",
        "vcpu_quota": 6,
        "most_vcpu": 6.25,
        "at": "2027-01-01T02:30:00Z",
        "jobs": {"b": 4.0, "a": 2.0, "c": 0.25},
        "workers": {},
    }


def test_a_day_that_begins_within_an_hour_is_drawn_from_there_on() -> None:
    begin = BEGIN + minutes(30)
    chart = DayChart({begin: 1, begin + minutes(1): 40}, begin, begin + hours(24))
    console = Console(width=80, highlight=False)
    with console.capture() as captured:
        console.print(chart)
    lines = captured.get().splitlines()
    assert len(lines) == 26
    assert lines[1] == "00:00  " + " " * 30 + "▁█" + "·" * 28 + "    41"
    assert lines[-1] == "00:00  " + "·" * 30 + " " * 30 + "     0"


def test_a_terminal_without_block_characters_is_given_digits() -> None:
    console = Console(file=TextIOWrapper(BytesIO(), "ascii"), width=80, highlight=False)
    with console.capture() as captured:
        console.print(DayChart({BEGIN: 1, BEGIN + minutes(1): 3, BEGIN + minutes(2): 9}, BEGIN, BEGIN + hours(1)))
    assert captured.get().splitlines()[1] == "00:00  138" + "." * 57 + "    13"


def test_where_a_clock_runs_the_jobs_they_take_no_vcpu_of_their_own(
    jobs_without_database: Jobs, scheduled: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduled(*HERD)
    dev = next(each for each in ENVIRONMENTS if each.name == "dev")
    monkeypatch.setattr(list_load, "ENVIRONMENTS", (replace(dev, scheduler="clock"),))
    done = jobs_without_database("list", "--load", *FROM)
    assert done.out.splitlines()[-1] == "dev: the clock runs all jobs within its own task"
    (fargate,) = json.loads(jobs_without_database("list", "--load", *FROM, "--json").out)["fargate"]
    assert fargate == {"environment": "dev", "vcpu_quota": 6, "most_vcpu": 0, "at": None, "jobs": {}, "workers": {}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dst", "--load"], "--dst and --load: allowed is one of the two"),
        (
            [*FROM],
            "--from: allowed is with --dst or --load; `jobs next --from TIME` has the ticks after a time",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    jobs_without_database: Jobs, arguments: list[str], said: str
) -> None:
    done = jobs_without_database("list", *arguments)
    assert (done.code, done.out, done.err) == (2, "", f"jobs: {said}\n")


@pytest.mark.parametrize("option", ["--dst", "--load"])
@pytest.mark.parametrize("start", ["0001-01-01T00:00Z", "9999-12-31T23:59Z"])
def test_a_time_beyond_the_calendar_is_a_day_without_starts(
    jobs_without_database: Jobs, option: str, start: str
) -> None:
    done = jobs_without_database("list", option, "--from", start)
    assert (done.code, done.err) == (0, "")


def test_a_spread_is_shown_beside_the_nominal_time(jobs_without_database: Jobs, scheduled: Callable[..., None]) -> None:
    scheduled(
        job("rule", cron("0 2 * * ? *"), spread=minutes(10)),
        job("zoned", cron("0 2 * * ? *", zone="Etc/UTC"), spread=minutes(10)),
        job("plain", every(hours=24)),
    )
    of_rule = f"{offset('rule', minutes(10)) // minutes(1)} min later"
    rows = [columns(line) for line in jobs_without_database("list").out.splitlines()[1:]]
    assert [row[1] for row in rows] == [
        f"0 2 * * ? *, {of_rule}",
        "0 2 * * ? *, up to 10 min later",
        "0 0 * * ? *",
    ]
    header, *ticks = map(columns, jobs_without_database("next", *FROM, "--count", "3").out.splitlines())
    assert header[-1] == "starts"
    assert [(tick[0], tick[3], tick[-1]) for tick in ticks] == [
        ("2027-01-01T00:00Z", "plain", "-"),
        ("2027-01-01T02:00Z", "rule", of_rule),
        ("2027-01-01T02:00Z", "zoned", "up to 10 min later"),
    ]
    assert [each["spread_seconds"] for each in json.loads(jobs_without_database("list", "--json").out)] == [600, 600, 0]
