"""What follows for a queue from the limits of its job: times, and what no queue can hold."""

from collections.abc import Iterator
from datetime import timedelta

from handlers.declaration.duration import hours, seconds
from handlers.declaration.job import Job
from handlers.declaration.placement import LAMBDA_CEILING, START_AND_STOP_MARGIN, place
from handlers.declaration.queue import LONGEST_VISIBILITY, Queue

# "Using Lambda with Amazon SQS", configuring a queue: at least six times the function's timeout, so that a batch that
# was throttled or failed is not shown to others while its holder may still be at it.
FACTOR = 6
# A worker on Fargate says so often that it is alive, and its message stays hidden.
WORKER_BEAT = seconds(10)
# SQS hides a message for at most 12 hours from its receipt on, however often that is prolonged.
LONGEST_WORK = hours(11)
RECEIVES_BEYOND_ATTEMPTS = 10


def function_timeout(job: Job, *, lambda_ceiling: timedelta = LAMBDA_CEILING) -> timedelta:
    """How long a call of the job's function may take: one run, or a batch of them as far as Lambda allows.

    Messages that the time does not suffice for come back at once.
    """
    runs = 1 if job.queue is None else job.queue.batch
    return min(max(job.longest_run * runs, job.longest_run) + START_AND_STOP_MARGIN, lambda_ceiling)


def silence(job: Job, *, lambda_ceiling: timedelta = LAMBDA_CEILING) -> timedelta:
    """How long the holder of a message may be silent and at work all the same."""
    if place(job, lambda_ceiling=lambda_ceiling).compute == "fargate":
        return WORKER_BEAT
    return function_timeout(job, lambda_ceiling=lambda_ceiling)


def visibility(job: Job, queue: Queue, *, lambda_ceiling: timedelta = LAMBDA_CEILING) -> timedelta:
    """How long a message that was taken is hidden from others."""
    return queue.visibility or FACTOR * silence(job, lambda_ceiling=lambda_ceiling)


def receives(job: Job, queue: Queue) -> int:
    """How often a message is taken before SQS makes it a dead letter."""
    return queue.receives or job.retry.attempts + RECEIVES_BEYOND_ATTEMPTS


def queue_complaints(job: Job) -> Iterator[str]:
    """Yield `field value: what is allowed` where a queue and the limits of its job do not go together.

    The job has no other complaints, those of placement included.
    """
    queue = job.queue
    if queue is None:
        return
    compute = place(job).compute
    if compute == "lambda" and queue.concurrency < 2:
        yield "queue.concurrency 1: allowed is 2 or more on Lambda; compute='fargate' takes one message at a time"
    if compute == "fargate" and job.longest_run > LONGEST_WORK:
        yield f"longest_run {job.longest_run}: allowed is at most {LONGEST_WORK} for a message: SQS hides it for 12 h"
    least = FACTOR * silence(job)
    if queue.visibility is not None and not least <= queue.visibility <= LONGEST_VISIBILITY:
        yield (
            f"queue.visibility {queue.visibility}: allowed is {least} to {LONGEST_VISIBILITY}, that is {FACTOR} times "
            f"the {silence(job)} for which a holder may be silent and at work"
        )
    if receives(job, queue) <= job.retry.attempts:
        yield (
            f"queue.receives {queue.receives}: allowed is more than the {job.retry.attempts} attempts of the job, "
            "which would be cut short otherwise"
        )
