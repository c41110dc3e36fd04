"""What jobs of the table need and an environment does not give: pure functions, for its complaints."""

from collections.abc import Iterator
from datetime import timedelta

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.placement import place
from handlers.declaration.queue_limits import FACTOR, silence
from infra.surroundings import GivenNetwork, OwnNetwork

# The name of the dead-letter queue that all jobs share, after the prefix.
SHARED_DEAD_LETTERS = "dead-letters"


def internet_complaints(
    catalogue: Catalogue, network: OwnNetwork | GivenNetwork, *, by_clock: bool, lambda_ceiling: timedelta
) -> Iterator[str]:
    """Yield `field value: what is allowed` for a network of our own without a route that a job needs.

    A given network is whoever gives it to know. by_clock: all jobs run in the task of a clock.
    """
    if isinstance(network, GivenNetwork) or network.egress == "nat":
        return
    outside = [job for job in catalogue if job.internet]
    if network.egress == "public":  # only tasks have an address there
        outside = [
            job for job in outside if not by_clock and place(job, lambda_ceiling=lambda_ceiling).compute == "lambda"
        ]
    if outside:
        allowed = "nat, or public for jobs on Fargate" if network.egress == "endpoints" else "nat"
        names = ", ".join(job.name for job in outside)
        yield f"network.egress {network.egress!r}: allowed is {allowed}, since these call the internet: {names}"


def queue_complaints(catalogue: Catalogue, *, lambda_ceiling: timedelta) -> Iterator[str]:
    """Yield `field value: what is allowed` for queues that a table in order has, and this environment cannot make."""
    for job in catalogue:
        if (queue := job.queue) is None:
            continue
        if job.name == SHARED_DEAD_LETTERS:
            yield f"job {job.name!r}: allowed with a queue is any other name: the shared dead-letter queue has this one"
        ceiling = f"with lambda_ceiling {lambda_ceiling}"
        if queue.concurrency < 2 and place(job, lambda_ceiling=lambda_ceiling).compute == "lambda":
            yield f"queue.concurrency 1 of {job.name}: allowed is 2 or more {ceiling}, by which it runs on Lambda"
        least = FACTOR * silence(job, lambda_ceiling=lambda_ceiling)
        if queue.visibility is not None and queue.visibility < least:
            yield f"queue.visibility {queue.visibility} of {job.name}: allowed is {least} or more {ceiling}"
