"""What wakes somebody because a start was not delivered, whatever the job."""

from collections.abc import Sequence

from infra.alarms import PERIOD, Alarms
from infra.metric import Expression, Metric, Statistic

# "Using metric math": an alarm on an expression can use 10 metrics.
METRICS_OF_AN_EXPRESSION = 10
# Seconds after which a message counts as forgotten; SQS deletes it after 14 days.
FORGOTTEN = 86_400


def watch_rules(alarms: Alarms, rules: Sequence[str]) -> None:
    """Alarm on deliveries in which a rule of this environment failed."""
    queue = alarms.environment.dead_letters
    for first in range(0, len(rules), METRICS_OF_AN_EXPRESSION):
        some = rules[first : first + METRICS_OF_AN_EXPRESSION]
        number = first // METRICS_OF_AN_EXPRESSION + 1
        failed = {
            f"m{place}": Metric("AWS/Events", "FailedInvocations", {"RuleName": rule})
            for place, rule in enumerate(some)
        }
        alarms.add(
            alarms,
            f"RuleErrors{number}",
            f"rules-not-delivered-{number}",
            f"EventBridge could not start what one of these rules calls: {', '.join(some)}. The event and the reason "
            f"are in the queue {queue}; put it right. Where the watchdog has not caught up, as `jobs runs JOB` shows, "
            "start the job with `jobs run JOB --tick TIME`.",
            Expression("SUM(METRICS())", failed),
        )


def watch_schedules(alarms: Alarms) -> None:
    """Alarm on starts that a schedule of this environment could not deliver."""
    environment = alarms.environment
    group = {"ScheduleGroup": environment.prefix}
    alarms.add(
        alarms,
        "ScheduleErrors",
        "schedules-not-delivered",
        f"EventBridge Scheduler could not start a job of {environment.name}; it may have tried again. What it gave up "
        f"is in the queue {environment.dead_letters}, with job and reason. Where the watchdog has not caught up, as "
        "`jobs runs JOB` shows, start the job with `jobs run JOB --tick TIME`.",
        # "Monitoring EventBridge Scheduler with Amazon CloudWatch".
        Expression(
            "SUM(METRICS())",
            {
                "errors": Metric("AWS/Scheduler", "TargetErrorCount", group),
                "dropped": Metric("AWS/Scheduler", "InvocationDroppedCount", group),
            },
        ),
    )


def watch_dead_letters(alarms: Alarms) -> None:
    """Alarm while the dead-letter queue holds anything, and again when that has lain there for a day."""
    queue = alarms.environment.dead_letters
    act = (
        "The message says what and why. See with `jobs runs` whether the ledger has made up for it, and delete it "
        "then; if not, start the job with `jobs run JOB --tick TIME`."
    )
    alarms.add(
        alarms,
        "DeadLetters",
        "dead-letters",
        f"Something lies in the queue {queue}: a start that could not be delivered, or a call of watchdog, dispatcher "
        f"or recorder that failed. {act}",
        of_queue(queue, "ApproximateNumberOfMessagesVisible"),
    )
    alarms.add(
        alarms,
        "OldDeadLetters",
        "dead-letters-old",
        f"Something has lain in the queue {queue} for a day, and SQS deletes it after 14. {act}",
        of_queue(queue, "ApproximateAgeOfOldestMessage"),
        threshold=FORGOTTEN,
        period=PERIOD,
    )


def of_queue(queue: str, name: str, statistic: Statistic = "Maximum") -> Metric:
    """A metric that SQS sends of a queue."""
    return Metric("AWS/SQS", name, {"QueueName": queue}, statistic)
