"""`jobs list --load` where queues have workers on Fargate."""

import json
from dataclasses import replace

import pytest

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.cron import cron
from handlers.declaration.duration import hours, minutes
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from ops.commands import list_jobs
from tests.ops.command import Jobs

LOAD = ("list", "--load", "--from", "2027-01-01T00:00Z")
PULL = Job("pull", target="", queue=Queue(concurrency=4), longest_run=minutes(5), compute="fargate")
ON_LAMBDA = Job("small", target="", queue=Queue(concurrency=9), longest_run=minutes(1))
NIGHTLY = Job("nightly", target="", schedule=cron("0 2 * * ? *"), longest_run=hours(1), memory=30_720)


def test_without_ticks_on_fargate_its_workers_are_what_is_needed(
    jobs_without_database: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_jobs, "SCHEDULE", Catalogue((PULL, ON_LAMBDA)))
    assert jobs_without_database(*LOAD).out.splitlines()[-1] == (
        "dev, staging, prod: at most 1 vCPU of Fargate at once (workers of pull 1), within the quota of 6"
    )


def test_workers_count_beside_the_ticks(jobs_without_database: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    more = replace(PULL, name="more", queue=Queue(concurrency=8))
    monkeypatch.setattr(list_jobs, "SCHEDULE", Catalogue((NIGHTLY, PULL, more)))
    assert jobs_without_database(*LOAD).out.splitlines()[-1] == (
        "dev, staging, prod: at most 7 vCPU of Fargate at once, from 2027-01-01T02:00Z on "
        "(nightly 4, workers of pull 1, workers of more 2), which passes the quota of 6"
    )
    found = json.loads(jobs_without_database(*LOAD, "--json").out)["fargate"][0]
    assert (found["most_vcpu"], found["jobs"], found["workers"]) == (7, {"nightly": 4}, {"pull": 1, "more": 2})
