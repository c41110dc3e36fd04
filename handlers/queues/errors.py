"""Why a message was not published, each as one line that says what, where and what to do."""

from collections.abc import Mapping

from handlers.queues.refusal import Refusal


class NotPublished(Exception):
    """Base of what `publish` raises about a message that is well-formed; see MalformedMessage for one that is not."""


class PartitionNeeded(NotPublished):
    """A FIFO queue keeps an order within partitions, and the message is for none."""

    def __init__(self, job: str, key: str) -> None:
        super().__init__(
            f"{job} has a FIFO queue and message {key} no partition: give partition=..., such as a restaurant"
        )


class DelayNotAllowed(NotPublished):
    """SQS holds no message back like that."""

    def __init__(self, job: str, key: str, delay: object, allowed: str) -> None:
        super().__init__(f"message {key} to {job} has the delay {delay}: allowed is {allowed}")


class NotSent(NotPublished):
    """SQS has not taken these messages, after every try; all others of the call are sent.

    refused: by key, why. A message whose answer was lost may have been taken all the same: to send it again does no
    harm, its key is the run's.
    """

    def __init__(self, job: str, refused: Mapping[str, Refusal | None], *, sent: int) -> None:
        self.job, self.refused, self.sent = job, dict(refused), sent
        key, refusal = next((item for item in refused.items() if item[1]), next(iter(refused.items())))
        reason = refusal.reason if refusal else "there was no time to try it"
        super().__init__(
            f"{len(refused)} of {sent + len(refused)} messages to {job} were not sent, such as {key}: {reason}"
        )
