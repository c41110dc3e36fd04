"""Where a job's queue is."""

import re

from handlers.declaration.job import Job

FIFO = ".fifo"  # the end of such a queue's name ("Amazon SQS FIFO queue", developer guide)
DEAD_LETTERS = "_dead-letters"  # no job's name has an underscore, so no queue of a job is called like that


ON_AWS = re.compile(r"https://sqs\.(?P<region>[a-z]{2}(-[a-z]+)+-[0-9]+)\.")


class NoQueue(LookupError):
    """The job has no queue, or this deployment none for it; the message says which, and what to do."""


def queue_url(base: str, job: Job) -> str:
    """The URL of the job's queue. base: `SHIFTLOCK_QUEUES`, up to the job's name. Raises NoQueue."""
    return _url(base, job, "")


def dead_letters_url(base: str, job: Job) -> str:
    """The URL of the queue for its messages that nobody could work on. Raises NoQueue."""
    return _url(base, job, DEAD_LETTERS)


def region_of(base: str) -> str | None:
    """The region that the queues are in; None where their address does not say."""
    found = ON_AWS.match(base)
    return found["region"] if found else None


def _url(base: str, job: Job, kind: str) -> str:
    if job.queue is None:
        raise NoQueue(f"{job.name} has no queue: give it queue=Queue(...) in the job table")
    return f"{base}{job.name}{kind}{FIFO if job.queue.fifo else ''}"
