"""Passes of the planner for tests: a job table with one job, a pass over it, and an outage before a pass."""

from datetime import timedelta

import psycopg

from handlers.declaration.catalogue import Catalogue, declare
from handlers.declaration.cron import Cron, every
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.planning.sweep import Pass, sweep

AGO = "update shiftlock.jobs set planned_until = clock_timestamp() - %s"
MINUTELY = every(minutes=1)


def table(schedule: Cron = MINUTELY, **policies: object) -> Catalogue:
    """A job table with one job, called nightly."""
    facts = {"longest_run": minutes(1), "target": TARGET, **policies}
    return declare(Job("nightly", schedule=schedule, **facts))  # type: ignore[arg-type]


TARGET = "tests.runtime.sample_jobs:succeed"
OTHER = declare(Job("other", target=TARGET, schedule=every(hours=1), longest_run=minutes(1)))


def look(database: psycopg.Connection, jobs: Catalogue, *, rings: bool = True, on_time: timedelta = minutes(1)) -> Pass:
    return sweep(database, jobs, on_time=lambda job: on_time, rings=rings, lost_budget=5)


def after_an_outage_of(length: timedelta, database: psycopg.Connection, jobs: Catalogue) -> Pass:
    look(database, jobs)
    database.execute("delete from shiftlock.job_runs")
    database.execute(AGO, [length])
    return look(database, jobs)
