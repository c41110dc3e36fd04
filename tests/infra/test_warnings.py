"""What synth warns of, and that it is quiet when there is nothing."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import cron
from handlers.declaration.duration import hours, minutes
from handlers.declaration.job import Job
from handlers.declaration.never import NEVER
from handlers.declaration.queue import Queue
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS
from infra.surroundings import OwnDatabase
from infra.warnings import warn, warnings

DEV = ENVIRONMENTS[0]
NOW = datetime(2027, 1, 5, tzinfo=UTC)


def job(name: str, expression: str, *, zone: str | None = None, **more: Any) -> Job:
    right: Mapping[str, Any] = {"target": SCHEDULE.jobs[0].target, "longest_run": minutes(1)}
    return Job(name, schedule=cron(expression, zone=zone), **{**right, **more})


def texts(*jobs: Job, now: datetime = NOW, instance: str = "db.t4g.micro", **environment: Any) -> list[str]:
    given = replace(DEV, database=OwnDatabase(instance), **environment)
    return [each.text for each in warnings(given, Catalogue(jobs), now)]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.name)
def test_our_own_table_gives_nothing_to_warn_of(environment: Any) -> None:
    assert list(warnings(environment, SCHEDULE, NOW)) == []


def test_a_time_in_a_gap_hour_is_named_with_the_night_and_the_zone() -> None:
    assert texts(job("nightly", "30 2 * * ? *", zone="Europe/Berlin")) == [
        "nightly is skipped on 2027-03-28: no 02:30 in Europe/Berlin, where clocks go forward; "
        "choose another hour if it must run that night"
    ]
    (text,) = texts(job("often", "0/10 2 * * ? *", zone="America/New_York"))
    assert text.startswith("often is skipped on 2027-03-14: no 02:00, 02:10, 02:20 and 3 more in America/New_York")


def test_each_night_of_the_coming_year_is_told_and_none_after_it() -> None:
    havana = job("nightly", "30 0 * * ? *", zone="America/Havana")
    days = {now: [text[22:32] for text in texts(havana, now=now)] for now in (NOW, NOW.replace(month=6))}
    assert [len(found) for found in days.values()] == [1, 1]
    assert days[NOW] == ["2027-03-14"]
    assert days[NOW.replace(month=6)] == ["2028-03-12"]


def test_a_job_of_every_hour_or_in_utc_is_not_skipped() -> None:
    assert texts(job("hourly", "30 * * * ? *", zone="Europe/Berlin"), job("utc", "30 2 * * ? *")) == []


def test_a_schedule_that_is_over_is_named_with_its_last_tick() -> None:
    assert texts(job("over", "0 2 * * ? 2026")) == [
        "over never fires any more: its last tick was 2026-12-31T02:00Z; "
        "take it out of handlers/schedule.py, or give it another schedule"
    ]
    assert texts(job("over", "0 2 * * ? 2026"), now=datetime(2026, 12, 31, 1, tzinfo=UTC)) == []


def test_more_vcpu_at_once_than_the_quota_is_named_with_the_minute_and_the_jobs() -> None:
    monthly = [job(f"month-{number}", "0 2 1 * ? *", longest_run=hours(1), memory=16_384) for number in range(3)]
    daily = job("daily", "30 2 * * ? *", longest_run=hours(1), memory=8192)
    assert texts(*monthly) == []
    (text,) = texts(*monthly, daily)
    assert text.startswith(
        "7 vCPU of Fargate are needed at 2027-02-01T02:30Z (month-0 2, month-1 2, month-2 2, daily 1), "
        "and the quota of dev is 6: move the jobs apart, or have AWS raise"
    )
    assert texts(*monthly, daily, vcpu_quota=7) == []
    assert texts(*monthly, daily, scheduler="clock") == []
    assert texts(*monthly, replace(daily, schedule=cron("0 3 * * ? *"))) == []


def test_workers_of_queues_count_against_the_quota_all_at_once() -> None:
    workers = replace(job("pull", "0 2 * * ? *", compute="fargate", memory=4096), queue=Queue(concurrency=20))
    (text,) = texts(replace(workers, schedule=NEVER), instance="db.t4g.large")
    assert text.startswith(
        "10 vCPU of Fargate are needed at 2027-01-05T00:00Z (workers of pull 10), and the quota of dev is 6: "
    )
    assert texts(replace(workers, schedule=NEVER), instance="db.t4g.large", vcpu_quota=10) == []


def test_more_connections_than_the_database_has_are_named_with_who_wants_them() -> None:
    often = [replace(job(f"often-{number}", "0 2 * * ? *"), queue=Queue(concurrency=20)) for number in range(2)]
    assert texts(*often) == [
        "82 connections to PostgreSQL may be wanted at once (often-0 40, often-1 40, platform 2), and db.t4g.micro of "
        "dev has about 79: lower queue.concurrency, or choose a larger instance in infra/environments.py"
    ]
    assert texts(*often, instance="db.t4g.small") == []
    assert texts(*often, instance="db.x2idn.16xlarge") == []
    (text,) = texts(*often, scheduler="clock", clocks=5, clock_children=8)
    assert text.startswith("82 connections to PostgreSQL may be wanted at once (clocks 80, platform 2)")


def test_a_job_without_a_schedule_is_not_over() -> None:
    assert texts(replace(job("by-message", "0 2 * * ? *"), schedule=NEVER, queue=Queue())) == []


def test_a_job_that_is_off_in_the_environment_is_no_matter_there() -> None:
    nightly = job("nightly", "30 2 * * ? *", zone="Europe/Berlin")
    assert texts(nightly, job("over", "0 2 * * ? 2026"), schedules_off=frozenset({"nightly", "over"})) == []


def test_warnings_reach_the_cloud_assembly_and_no_template(tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path / "cdk.out"), analytics_reporting=False)
    stack = Stack(app, "jobs")
    catalogue = Catalogue((job("over", "0 2 * * ? 2026"), job("nightly", "30 2 * * ? *", zone="Europe/Berlin")))
    warn(stack, DEV, catalogue, NOW)
    app.synth()
    metadata = (tmp_path / "cdk.out" / "jobs.metadata.json").read_text()
    found = [each["data"] for each in json.loads(metadata)["/jobs"] if each["type"] == "aws:cdk:warning"]
    assert [text.split()[0] for text in found] == ["over", "nightly"]
    assert all(f"[ack: shiftlock:{kind}:" in text for kind, text in zip(("over", "skipped"), found, strict=True))
    assert "over" not in (tmp_path / "cdk.out" / "jobs.template.json").read_text()
