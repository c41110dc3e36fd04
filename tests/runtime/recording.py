"""Call the recorder's function, and look at what it did: shared by its tests."""

import json
from typing import Any

from handlers.declaration.signals import JOB
from handlers.runtime.recorder_entry import handler
from tests.guard.holders import claimed, guard_on, request
from tests.runtime.aws_events import TASK

MINE = f"fargate:{TASK}"
OF_RUN_1 = {"SHIFTLOCK_TRIGGER": "retry", "SHIFTLOCK_RUN": "1"}
EVERYTHING = """
select run.xmin::text, run.*::text, array(
    select attempt.xmin::text || attempt from shiftlock.job_attempts as attempt where run_id = run.id order by attempt
) from shiftlock.job_runs as run order by id
"""
PENDING = """
insert into shiftlock.job_runs (job_name, run_key, lock_key, tick, trigger, status, attempt, infra_failures)
select name, '2026-11-29T02:00Z', lock_key, '2026-11-29T02:00Z', 'plan', 'pending', %(attempt)s, %(infra)s
from shiftlock.jobs where name = 'sample'
"""

Events = list[dict[str, Any]]


def recorded(event: object) -> list[tuple[object, ...]]:
    """What the function says it has recorded."""
    return [tuple(one.values()) for one in handler(event, None)["recorded"]]


def dies(url: str, compute: str = MINE) -> None:
    """Claim the 02:00 tick there, and leave without a word."""
    with guard_on(url) as dead:
        claimed(dead, request(job="sample", compute=compute))


def signals(out: str) -> list[tuple[str, set[str]]]:
    """Job and metrics of each metric line."""
    lines = [json.loads(line) for line in out.splitlines()]
    metrics = [line for line in lines if "_aws" in line]
    return [
        (line[JOB], {metric["Name"] for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]}) for line in metrics
    ]
