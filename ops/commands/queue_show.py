"""`jobs queue show`: how full the queues are, how old what waits is, and what has ended as a dead letter."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from handlers.declaration.job import Job
from handlers.schedule import SCHEDULE
from ops.as_json import print_json
from ops.queue_place import NotDeployed, QueuePlace, asking_aws, job_with_queue, queue_place
from ops.refused import Refused
from ops.table import Cell, Table, open_console
from ops.wording import span

TITLES = ("job", "waiting", "oldest", "in flight", "delayed", "dead letters", "queue")
FOLDS = (("queue", "job"),)
NUMBERS = frozenset({"waiting", "oldest", "in flight", "delayed", "dead letters"})

COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")
# SQS sends its metrics once a minute, and some minutes late ("Available CloudWatch metrics for Amazon SQS").
LOOK_BACK = timedelta(minutes=10)
MINUTE = 60


@dataclass(frozen=True, slots=True)
class Depth:
    """A queue at a moment, as SQS counts; without numbers where it is not deployed.

    oldest_seconds: of what is not deleted, None where CloudWatch has none.
    """

    job: str
    queue: str
    waiting: int | None = None
    in_flight: int | None = None
    delayed: int | None = None
    oldest_seconds: float | None = None
    dead_letters: int | None = None


def show_queues(name: str | None, *, environment: str | None, as_json: bool) -> None:
    """Print one line for each queue, or for that of one job. Raises UnknownJob, Refused."""
    place = queue_place(environment)
    jobs = [job for job in SCHEDULE if job.queue is not None] if name is None else [job_with_queue(name)]
    if not jobs:
        raise Refused("no job has a queue: give one queue=Queue() in the job table")
    with asking_aws():
        found = [depth(place, job) for job in jobs]
    if as_json:
        print_json([asdict(each) for each in found])
        return
    open_console().print(Table(TITLES, [_cells(each) for each in found], folds=FOLDS, right=NUMBERS))
    if missing := [each.job for each in found if each.waiting is None]:
        print(f"no queue yet of {', '.join(missing)}: {place.remedy}")


def depth(place: QueuePlace, job: Job) -> Depth:
    """How full the job's queue is. Raises botocore's errors."""
    try:
        waiting, in_flight, delayed = counts(place, job)
        dead = sum(counts(place, job, dead=True))
    except NotDeployed:
        return Depth(job.name, place.queue_name(job))
    return Depth(job.name, place.queue_name(job), waiting, in_flight, delayed, _oldest(place, job), dead)


def counts(place: QueuePlace, job: Job, *, dead: bool = False) -> tuple[int, int, int]:
    """Messages that are visible, in flight and delayed. Raises NotDeployed, and botocore's errors."""
    url = place.url(job, dead=dead)
    found = place.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=list(COUNTS))["Attributes"]
    waiting, in_flight, delayed = (int(found[name]) for name in COUNTS)
    return waiting, in_flight, delayed


def _oldest(place: QueuePlace, job: Job) -> float | None:
    from botocore.exceptions import ClientError

    now = datetime.now(UTC)
    try:
        points = place.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/SQS",
            MetricName="ApproximateAgeOfOldestMessage",
            Dimensions=[{"Name": "QueueName", "Value": place.queue_name(job)}],
            StartTime=now - LOOK_BACK,
            EndTime=now + timedelta(seconds=MINUTE),
            Period=MINUTE,
            Statistics=["Maximum"],
        )["Datapoints"]
    except ClientError:  # who may look at queues need not be allowed to look at metrics
        return None
    newest = max(points, key=lambda point: point["Timestamp"], default=None)
    return None if newest is None else float(newest["Maximum"])


def _cells(found: Depth) -> list[Cell]:
    empty = not (found.waiting or found.in_flight or found.delayed)
    oldest = None if empty or found.oldest_seconds is None else span(timedelta(seconds=found.oldest_seconds))
    waiting, *others = (
        None if number is None else str(number)
        for number in (found.waiting, found.in_flight, found.delayed, found.dead_letters)
    )
    return [found.job, waiting, oldest, *others, found.queue]
