"""Ring, plan and look in the deployed environment: shared by the tests of what goes wrong in it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tests.end_to_end.conftest import Deployed

PREFIX = "shiftlock-dev"
WATCHDOG = f"{PREFIX}_watchdog"

ATTEMPTS = """
select attempt.outcome, split_part(attempt.compute, ':', 1), coalesce(attempt.error, '')
from shiftlock.job_attempts attempt join shiftlock.job_runs run on run.id = attempt.run_id
where job_name = %s and run_key = %s order by attempt.attempt
"""
RUN = "select id, infra_failures, error_msg from shiftlock.job_runs where job_name = %s and run_key = %s"
# As the watchdog has planned it an hour before.
PLAN = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, next_run)
select name, %(key)s, lock_key, %(tick)s, 'plan', 'pending', %(tick)s from shiftlock.jobs where name = %(job)s
"""


def fire(deployed: Deployed, job: str, tick: str) -> None:
    deployed.aws.fire(f"{PREFIX}-{job}", at=datetime.fromisoformat(tick))


def watch(deployed: Deployed) -> None:
    """A pass of the watchdog, through its rule; what it says is done by itself then."""
    deployed.aws.fire(WATCHDOG, at=datetime.now(UTC))


def attempts(deployed: Deployed, job: str, tick: str) -> Sequence[tuple[str, str, str]]:
    return deployed.ledger.execute(ATTEMPTS, (job, tick)).fetchall()


def plan(deployed: Deployed, job: str, tick: str) -> None:
    """A run that waits for its retry, as the watchdog finds it."""
    deployed.ledger.execute(PLAN, {"job": job, "key": tick, "tick": datetime.fromisoformat(tick)})
    deployed.ledger.execute(
        "update shiftlock.job_runs set next_run = now(), waiting = true where job_name = %s and run_key = %s",
        (job, tick),
    )


def log_of(deployed: Deployed, name: str) -> str:
    """All that is in a log group, whatever stream it came by."""
    logs = deployed.aws.client("logs")
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=f"/shiftlock/dev/{name}")
    return "\n".join(event["message"] for page in pages for event in page["events"])
