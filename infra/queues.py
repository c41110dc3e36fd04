"""The queues of an environment. They hold work that is nowhere else, and outlive every deploy of the jobs."""

from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from infra.environment import Environment
from infra.job_queue import JobQueue


class Queues(Construct):
    """A queue for each job that has one.

    A message that a service has sent is the only copy of its work until somebody takes it: so they stand in the stack
    of the database, where the stack of the jobs may be deleted and deployed again. With a clock there are
    none: the ledger is the queue.
    """

    def __init__(self, scope: Construct, environment: Environment, catalogue: Catalogue) -> None:
        super().__init__(scope, "Queues")
        for job in catalogue:
            if job.queue is not None:
                JobQueue(self, job, job.queue, environment)
