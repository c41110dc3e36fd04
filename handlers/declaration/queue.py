"""`Queue`: how messages reach a job, and how many of them are worked on at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from handlers.declaration.duration import days, hours, minutes, seconds

# "Amazon SQS message quotas" and "Configuring queue parameters".
RETENTION = (minutes(1), days(14))
LONGEST_DELAY = minutes(15)
LONGEST_VISIBILITY = hours(12)
LARGEST_BATCH = 10
MOST_RECEIVES = 1000
# "Maximum concurrency for Amazon SQS event sources", AWS Lambda developer guide, and what an account's Fargate bears.
MOST_AT_ONCE = 1000

USUAL_RETENTION = days(4)  # SQS keeps a message so long unless told otherwise


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of the job's own, with a dead-letter queue behind it.

    concurrency: how many calls of the function, or workers on Fargate, there are at most at once.
    batch: how many messages one call of the function gets; each is a run of its own. A worker takes one at a time.
    retention: how long a message waits that nobody has taken.
    visibility: how long a message that was taken is hidden from others; None is six times what its holder may need
    before it says that it is alive. See `queue_limits`.
    fifo: messages of one partition are worked on in the order they were sent, one at a time; all need a partition then.
    receives: how often a message is taken that no holder has answered for, before it is a dead letter; None is ten more
    than the job's attempts. What a job fails is counted in the ledger, and needs no such count.
    delay: how long each message is held back.
    """

    concurrency: int = 10
    batch: int = 10
    retention: timedelta = USUAL_RETENTION
    visibility: timedelta | None = None
    fifo: bool = False
    receives: int | None = None
    delay: timedelta = timedelta()

    def complaints(self) -> Iterator[str]:
        """Yield `field value: what is allowed` for each value that no queue could have."""
        if not 1 <= self.concurrency <= MOST_AT_ONCE:
            yield f"queue.concurrency {self.concurrency}: allowed is 1 to {MOST_AT_ONCE}"
        if not 1 <= self.batch <= LARGEST_BATCH:
            yield f"queue.batch {self.batch}: allowed is 1 to {LARGEST_BATCH}"
        if not RETENTION[0] <= self.retention <= RETENTION[1] or self.retention % seconds(1):
            yield f"queue.retention {self.retention}: allowed is 1 minute to 14 days, in whole seconds"
        if not timedelta() <= self.delay <= LONGEST_DELAY or self.delay % seconds(1):
            yield f"queue.delay {self.delay}: allowed is 0 to 15 minutes, in whole seconds"
        if self.receives is not None and not 1 <= self.receives <= MOST_RECEIVES:
            yield f"queue.receives {self.receives}: allowed is None or 1 to {MOST_RECEIVES}"
        if self.visibility is not None and self.visibility % seconds(1):
            yield f"queue.visibility {self.visibility}: allowed is None or whole seconds"
