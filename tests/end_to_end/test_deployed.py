"""What the deployed templates do when their rules and schedules ring."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from handlers.schedule import SCHEDULE
from ops.migrate_task import MigrationFailed, run_migrations
from tests.end_to_end.conftest import Deployed

ATTEMPTS = """
select attempt.outcome, split_part(attempt.compute, ':', 1)
from shiftlock.job_attempts attempt join shiftlock.job_runs run on run.id = attempt.run_id
where job_name = %s and run_key = %s order by attempt.attempt
"""


def test_the_migration_task_registers_every_job(deployed: Deployed) -> None:
    names = {name for (name,) in deployed.ledger.execute("select name from shiftlock.jobs")}
    assert names == {job.name for job in SCHEDULE}


@pytest.mark.parametrize(
    ("job", "tick", "compute"),
    [
        ("billing-run", "2026-11-28T23:00Z", "fargate"),
        ("report-aggregation", "2026-11-28T03:30Z", "fargate"),
        ("session-cleanup", "2026-11-28T12:15Z", "lambda"),
    ],
)
def test_a_tick_runs_its_job_where_the_job_was_placed(deployed: Deployed, job: str, tick: str, compute: str) -> None:
    deployed.aws.fire(f"shiftlock-dev-{job}", at=datetime.fromisoformat(tick))
    assert deployed.await_end(job, tick) == "succeeded"
    assert deployed.ledger.execute(ATTEMPTS, (job, tick)).fetchall() == [("succeeded", compute)]


def test_a_rule_that_fires_three_times_runs_its_job_once(deployed: Deployed) -> None:
    tick = "2026-11-28T12:30Z"
    for second in (0, 7, 41):
        deployed.aws.fire("shiftlock-dev-session-cleanup", at=datetime(2026, 11, 28, 12, 30, second, tzinfo=UTC))
    assert deployed.await_end("session-cleanup", tick) == "succeeded"
    answer = deployed.aws.client("lambda").invoke(
        FunctionName="shiftlock-dev-session-cleanup",
        Payload=json.dumps({"trigger": "rule", "time": "2026-11-28T12:30:59Z"}),
    )
    assert json.loads(answer["Payload"].read())["outcome"] == "already_done"
    assert deployed.ledger.execute(ATTEMPTS, ("session-cleanup", tick)).fetchall() == [("succeeded", "lambda")]


def test_a_migration_task_that_fails_is_told_with_its_exit_code_and_log(deployed: Deployed) -> None:
    missing = replace(deployed.migration, family="shiftlock-dev-billing-run")
    deployed.ledger.execute("alter schema shiftlock rename to away")
    try:
        with pytest.raises(MigrationFailed, match=r"exited with 70 .*see log group"):
            run_migrations(deployed.aws.client("ecs"), missing, between_looks=0.05)
    finally:
        deployed.ledger.execute("alter schema away rename to shiftlock")
