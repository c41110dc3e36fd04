"""The queues in one line, for the live table of `make run`."""

from botocore.exceptions import BotoCoreError, ClientError

from handlers.schedule import SCHEDULE
from ops.commands.queue_show import counts
from ops.queue_place import QueuePlace
from ops.refused import Refused


class Queues:
    """The queues of the schedule's jobs in one place."""

    def __init__(self, place: QueuePlace) -> None:
        self._place = place
        self._jobs = [job for job in SCHEDULE if job.queue is not None]

    def line(self) -> str:
        """What waits and is in flight: `queues: inventory-pull 120 wait, 4 in flight; image-resize empty`."""
        try:
            found = {
                job.name: (counts(self._place, job), sum(counts(self._place, job, dead=True))) for job in self._jobs
            }
        except (BotoCoreError, ClientError, Refused) as error:
            return f"queues: {error}"
        return "queues: " + "; ".join(f"{name} {in_words(*depth)}" for name, depth in found.items())


def in_words(depth: tuple[int, int, int], dead: int) -> str:
    """How full one is. depth: messages that are visible, in flight and delayed."""
    visible, in_flight, delayed = depth
    parts = {"wait": visible + delayed, "in flight": in_flight, "dead letters": dead}
    return ", ".join(f"{count} {what}" for what, count in parts.items() if count) or "empty"
