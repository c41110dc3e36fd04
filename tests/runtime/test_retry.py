"""What becomes of a run after an attempt, as a table."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.declaration.job import Job
from handlers.declaration.policy import MOST_ATTEMPTS, Retry
from handlers.runtime.retry import (
    INFRASTRUCTURE_BUDGET,
    LONGEST_WAIT_IN_PROCESS,
    AttemptOutcome,
    Decision,
    after,
    fits_in_process,
    full_jitter,
)
from tests.runtime.running import sample

RETRY = Retry(attempts=3, base=timedelta(seconds=10), cap=timedelta(seconds=15))
JOB = sample("succeed", retry=RETRY)
HOLD = sample("succeed", retry=RETRY, on_lost="hold")
PATIENT = sample("succeed", retry=Retry(attempts=20, base=timedelta(seconds=1), cap=timedelta(hours=24)))


def decided(outcome: AttemptOutcome, job: Job = JOB, **facts: Any) -> Decision:
    return after(outcome, job, **({"attempt": 1, "infra_failures": 0, "fatal": False, "jitter": 1.0} | facts))


@pytest.mark.parametrize(
    ("outcome", "job", "facts", "status", "wait", "because"),
    [
        ("succeeded", JOB, {}, "succeeded", 0, "the job returned"),
        ("failed", JOB, {}, "pending", 10, "attempt 1 of 3 failed"),
        ("failed", JOB, {"attempt": 2}, "pending", 15, "attempt 2 of 3 failed"),
        ("failed", JOB, {"attempt": 3}, "failed", 0, "attempt 3 of 3 failed"),
        ("failed", JOB, {"fatal": True}, "failed", 0, "the job raised Fatal"),
        ("failed", HOLD, {}, "pending", 10, "attempt 1 of 3 failed"),
        ("failed", JOB, {"jitter": 0.0}, "pending", 0, "attempt 1 of 3 failed"),
        ("failed", JOB, {"jitter": 0.5}, "pending", 5, "attempt 1 of 3 failed"),
        ("failed", JOB, {"asked_wait": timedelta(hours=1)}, "pending", 3600, "attempt 1 of 3 failed"),
        ("failed", JOB, {"asked_wait": timedelta(seconds=3)}, "pending", 10, "attempt 1 of 3 failed"),
        ("timed_out", JOB, {}, "pending", 10, "attempt 1 of 3 timed_out"),
        ("timed_out", JOB, {"attempt": 3}, "failed", 0, "attempt 3 of 3 timed_out"),
        ("timed_out", HOLD, {}, "unknown", 0, "it passed its longest_run of 0:05:00 and on_lost is hold"),
        ("lost", JOB, {}, "pending", 0, "lost, which uses up no attempt"),
        ("lost", JOB, {"attempt": 3}, "pending", 0, "lost, which uses up no attempt"),
        ("lost", HOLD, {}, "unknown", 0, "its lease was lost and on_lost is hold"),
        ("interrupted", JOB, {"attempt": 3}, "pending", 0, "interrupted, which uses up no attempt"),
        ("interrupted", HOLD, {}, "pending", 0, "interrupted, which uses up no attempt"),
        ("lost", JOB, {"attempt": 5, "infra_failures": 4}, "pending", 0, "lost, which uses up no attempt"),
        ("lost", JOB, {"attempt": 6, "infra_failures": 5}, "failed", 0, "lost 6 times, which is once too often"),
        (
            "interrupted",
            JOB,
            {"attempt": 6, "infra_failures": 5},
            "failed",
            0,
            "interrupted 6 times, which is once too often",
        ),
        # Attempts that ended through no fault of the job count neither towards its attempts nor its backoff.
        ("failed", JOB, {"attempt": 3, "infra_failures": 2}, "pending", 10, "attempt 1 of 3 failed"),
        ("failed", JOB, {"attempt": 5, "infra_failures": 2}, "failed", 0, "attempt 3 of 3 failed"),
    ],
)
def test_the_end_of_an_attempt_decides_what_becomes_of_its_run(
    outcome: AttemptOutcome, job: Job, facts: dict[str, Any], status: Any, wait: float, because: str
) -> None:
    assert decided(outcome, job, **facts) == Decision(status, because, timedelta(seconds=wait))


def test_a_run_is_lost_exactly_as_often_as_its_budget_before_it_fails() -> None:
    statuses = [
        decided("lost", attempt=lost + 1, infra_failures=lost).status for lost in range(INFRASTRUCTURE_BUDGET + 1)
    ]
    assert statuses == ["pending"] * INFRASTRUCTURE_BUDGET + ["failed"]


@given(
    base=st.timedeltas(timedelta(milliseconds=1), timedelta(hours=1)),
    cap=st.timedeltas(timedelta(milliseconds=1), timedelta(hours=24)),
    attempt=st.integers(1, MOST_ATTEMPTS - 1),
    jitter=st.floats(0, 1),
)
def test_a_wait_is_never_above_the_cap_nor_above_the_doubled_base(
    base: timedelta, cap: timedelta, attempt: int, jitter: float
) -> None:
    job = sample("succeed", retry=Retry(attempts=attempt + 1, base=base, cap=max(base, cap)))
    wait = decided("failed", job, attempt=attempt, jitter=jitter).wait
    assert timedelta() <= wait <= job.retry.cap
    assert wait.total_seconds() <= base.total_seconds() * 2.0 ** (attempt - 1)


def test_without_a_cap_in_the_way_each_failure_doubles_the_longest_wait() -> None:
    waits = [decided("failed", PATIENT, attempt=attempt).wait.total_seconds() for attempt in range(1, 18)]
    assert waits == [2.0**doublings for doublings in range(17)]


def test_jitter_takes_any_part_of_the_wait_and_differs_from_run_to_run() -> None:
    jitters = [full_jitter() for _ in range(1000)]
    assert 0 <= min(jitters) < 0.1 < 0.9 < max(jitters) <= 1
    assert len(set(jitters)) > 900


SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("wait", "took", "left", "fits"),
    [
        pytest.param(SECOND, SECOND, None, True, id="no end"),
        pytest.param(LONGEST_WAIT_IN_PROCESS, SECOND, None, True, id="just short enough"),
        pytest.param(LONGEST_WAIT_IN_PROCESS + SECOND, SECOND, None, False, id="too long to pay for"),
        pytest.param(SECOND, 9 * SECOND, 10 * SECOND, True, id="just before the end"),
        pytest.param(SECOND, 10 * SECOND, 10 * SECOND, False, id="past the end"),
        pytest.param(timedelta(), timedelta(), -SECOND, False, id="the end has passed"),
    ],
)
def test_a_retry_is_made_in_process_when_it_is_near_and_fits(
    wait: timedelta, took: timedelta, left: timedelta | None, *, fits: bool
) -> None:
    assert fits_in_process(wait, took, left) is fits
