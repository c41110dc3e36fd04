"""Queues in the job table: what follows from a job's limits, and what is refused with what is allowed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from handlers.declaration.catalogue import InvalidSchedule, declare
from handlers.declaration.cron import every
from handlers.declaration.duration import days, hours, minutes, seconds
from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.declaration.queue import Queue
from handlers.declaration.queue_limits import function_timeout, receives, visibility

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def resize(queue: Queue | None = None, **limits: Any) -> Job:
    facts: dict[str, Any] = {"longest_run": minutes(2), "queue": queue or Queue()}
    return Job("resize", target="handlers.jobs.image_resize:run", **(facts | limits))


def complaint(*jobs: Job) -> str:
    with pytest.raises(InvalidSchedule) as refused:
        declare(*jobs)
    [text] = refused.value.complaints
    return text


def test_a_job_needs_a_schedule_or_a_queue_and_may_have_both() -> None:
    assert "a schedule such as cron('0 2 * * ? *'), or a queue, or both" in complaint(
        Job("resize", target="handlers.jobs.image_resize:run", longest_run=minutes(2))
    )
    assert len(declare(resize(schedule=every(hours=1)))) == 1
    assert "spread 0:05:00: allowed is 0 without a schedule" in complaint(resize(spread=minutes(5)))


def test_without_a_schedule_there_is_no_tick() -> None:
    schedule = resize().schedule
    assert not resize().scheduled
    assert (schedule.next(NOON), schedule.previous(NOON)) == (None, None)
    assert list(schedule.between(NOON, NOON + days(400))) == []


@pytest.mark.parametrize(
    ("batch", "longest_run", "timeout", "hidden"),
    [
        (1, minutes(2), seconds(150), minutes(15)),
        (5, minutes(2), seconds(630), minutes(63)),
        (10, minutes(2), seconds(900), minutes(90)),  # as many as fit; the others come back at once
        (10, minutes(14), seconds(900), minutes(90)),
    ],
)
def test_a_call_has_time_for_its_batch_and_its_messages_are_hidden_six_times_as_long(
    batch: int, longest_run: timedelta, timeout: timedelta, hidden: timedelta
) -> None:
    job = resize(Queue(batch=batch), longest_run=longest_run)
    assert function_timeout(job) == timeout
    assert job.queue is not None
    assert visibility(job, job.queue) == hidden


def test_a_worker_is_silent_for_seconds_however_long_it_works() -> None:
    job = resize(longest_run=hours(5))
    assert job.queue is not None
    assert visibility(job, job.queue) == minutes(1)


def test_another_ceiling_of_lambda_means_other_times() -> None:
    job = resize(Queue(batch=10), longest_run=minutes(2))
    assert function_timeout(job, lambda_ceiling=minutes(30)) == seconds(1230)
    assert function_timeout(job, lambda_ceiling=minutes(5)) == minutes(5)


def test_a_message_may_be_taken_ten_times_more_than_it_is_tried() -> None:
    job = resize(retry=Retry(attempts=5))
    assert job.queue is not None
    assert receives(job, job.queue) == 15
    assert receives(job, Queue(receives=7)) == 7


@pytest.mark.parametrize(
    ("queue", "limits", "says"),
    [
        (Queue(concurrency=0), {}, "queue.concurrency 0: allowed is 1 to 1000"),
        (Queue(concurrency=1), {}, "queue.concurrency 1: allowed is 2 or more on Lambda"),
        (Queue(batch=11), {}, "queue.batch 11: allowed is 1 to 10"),
        (Queue(retention=days(15)), {}, "queue.retention 15 days, 0:00:00: allowed is 1 minute to 14 days"),
        (Queue(delay=minutes(16)), {}, "queue.delay 0:16:00: allowed is 0 to 15 minutes"),
        (Queue(delay=seconds(0.5)), {}, "in whole seconds"),
        (Queue(receives=0), {}, "queue.receives 0: allowed is None or 1 to 1000"),
        (Queue(receives=3), {}, "queue.receives 3: allowed is more than the 3 attempts of the job"),
        (Queue(visibility=minutes(10)), {}, "queue.visibility 0:10:00: allowed is 1:30:00 to 12:00:00"),
        (Queue(visibility=hours(13)), {}, "queue.visibility 13:00:00: allowed is 1:30:00 to 12:00:00"),
        (Queue(), {"longest_run": hours(12)}, "longest_run 12:00:00: allowed is at most 11:00:00 for a message"),
        (Queue(), {"reads": ("Uploads",)}, "reads 'Uploads': allowed is a folder of lower-case words such as uploads/"),
        (Queue(), {"writes": ("/tmp/",)}, "writes '/tmp/': allowed is a folder"),
        (Queue(), {"sends": ("nobody",)}, "sends 'nobody': allowed is the name of a job with a queue, resize"),
    ],
)
def test_what_no_queue_can_be_is_refused_with_what_is_allowed(queue: Queue, limits: dict[str, Any], says: str) -> None:
    text = complaint(resize(queue, **limits))
    assert text.startswith("resize: ")
    assert says in text


def test_one_worker_at_a_time_is_what_fargate_can_do() -> None:
    assert len(declare(resize(Queue(concurrency=1), compute="fargate"))) == 1
