"""What wakes somebody because of a job's queue: messages are buried, wait too long, or fail too often."""

from datetime import timedelta

from constructs import Construct

from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.declaration.signals import WATCHDOG, Signal
from infra.alarms import Alarms
from infra.delivery_alarms import of_queue
from infra.job_queue import dead_letters_name, queue_name
from infra.metric import Expression, signal_of

# The metrics of a queue that nobody has used for six hours may come a quarter of an hour late ("Available CloudWatch
# metrics for Amazon SQS").
LEAST_PATIENCE = minutes(15)
# Of so many starts or more within so many seconds, so many percent are too many. Of fewer, each tells little.
STARTS, WITHIN, PERCENT = 20, 900, 10
# Seconds. The watchdog empties the outbox each minute.
LONGEST_OUTBOX = 300


def watch_queue(scope: Construct, alarms: Alarms, job: Job, queue: Queue) -> None:
    """Alarm on a job's dead letters, on messages that wait where it is not off, and on its share of failures."""
    environment = alarms.environment
    name, buried = queue_name(environment, job), dead_letters_name(environment, job)
    alarms.add(
        scope,
        "Dead",
        f"{job.name}-dead",
        f"Messages of {job.name} lie in the queue {buried}: they have failed for good, or were taken too often and "
        f"never answered for. The reason is with each, and in the ledger: see `jobs queue peek {job.name} --dead`, "
        f"put it right, then send them back with `jobs queue redrive {job.name}`.",
        of_queue(buried, "ApproximateNumberOfMessagesVisible"),
    )
    if job.name not in environment.schedules_off:
        allowed = patience(job, queue)
        alarms.add(
            scope,
            "Waiting",
            f"{job.name}-waiting",
            f"Messages wait in the queue {name}, the oldest for more than {allowed // minutes(1)} min: more come than "
            f"{queue.concurrency} at once can do, or nobody takes them. See how many with `jobs queue show "
            f"{job.name}`, and whether runs start and end with `jobs runs {job.name}`.",
            # The oldest may be one that is worked on: it counts only while others wait.
            Expression(
                "IF(waiting > 0, age, 0)",
                {
                    "waiting": of_queue(name, "ApproximateNumberOfMessagesVisible"),
                    "age": of_queue(name, "ApproximateAgeOfOldestMessage"),
                },
            ),
            threshold=int(allowed.total_seconds()),
        )
    alarms.add(
        scope,
        "Failing",
        f"{job.name}-failing",
        f"Of {STARTS} starts of {job.name} or more in {environment.name} within {WITHIN // 60} min, {PERCENT} in 100 "
        "failed for good: something that many messages need is away or wrong. Stop the rest with "
        f"`jobs pause {job.name}`, and see the errors with `jobs runs {job.name}`.",
        Expression(
            f"IF(started >= {STARTS}, 100 * failed / started, 0)",
            {
                "failed": signal_of(environment, Signal.FAILED, job.name),
                "started": signal_of(environment, Signal.STARTED, job.name),
            },
        ),
        threshold=PERCENT,
        period=WITHIN,
    )


def watch_outbox(alarms: Alarms) -> None:
    """Alarm on messages that were committed and are not sent."""
    environment = alarms.environment
    alarms.add(
        alarms,
        "OutboxStuck",
        "outbox-stuck",
        f"A message has been in the outbox of {environment.name} for more than {LONGEST_OUTBOX // 60} min, and the "
        "watchdog should send it within one. Nothing is lost, and what it rings for waits. See what SQS says in the "
        f"log {environment.log_group('_watchdog')}, and check the ledger with `jobs doctor`.",
        signal_of(environment, Signal.OUTBOX_AGE, WATCHDOG, "Maximum"),
        threshold=LONGEST_OUTBOX,
    )


def patience(job: Job, queue: Queue) -> timedelta:
    """How old the oldest message may get while messages wait: its delay, a late start, and one attempt."""
    return max(LEAST_PATIENCE, job.start_within) + queue.delay + job.longest_run
