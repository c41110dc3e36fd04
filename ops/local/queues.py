"""The queues in one line, for the live table of `make run`."""

from botocore.exceptions import BotoCoreError, ClientError

from handlers.declaration.job import Job
from handlers.schedule import SCHEDULE
from ops.commands.queue_show import counts
from ops.queue_place import NotDeployed, QueuePlace


class Queues:
    """The queues of the schedule's jobs in one place."""

    def __init__(self, place: QueuePlace) -> None:
        self._place = place
        self._jobs = [job for job in SCHEDULE if job.queue is not None]

    def line(self) -> str:
        """What waits and is in flight: `queues: inventory-pull 120 wait, 4 in flight; image-resize empty`."""
        try:
            return "queues: " + "; ".join(f"{job.name} {self._depth(job)}" for job in self._jobs)
        except (BotoCoreError, ClientError) as error:
            return f"queues: {error}"

    def _depth(self, job: Job) -> str:
        try:
            return in_words(counts(self._place, job), sum(counts(self._place, job, dead=True)))
        except NotDeployed:
            return "not deployed"


def in_words(depth: tuple[int, int, int], dead: int) -> str:
    """How full one is. depth: messages that are visible, in flight and delayed."""
    visible, in_flight, delayed = depth
    parts = {"wait": visible + delayed, "in flight": in_flight, "dead letters": dead}
    return ", ".join(f"{count} {what}" for what, count in parts.items() if count) or "empty"
