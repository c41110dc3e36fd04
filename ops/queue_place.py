"""Where `jobs queue` finds a job's queue and the ledger that its messages ring for: both of one environment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handlers.aws_clients import open_client
from handlers.declaration.job import Job
from handlers.queues.address import DEAD_LETTERS, FIFO
from handlers.schedule import SCHEDULE
from infra.environment import Environment
from infra.environments import ENVIRONMENTS, UnknownEnvironment, choose
from ops import configured
from ops.local.deployed import ENDPOINT, ENVIRONMENT, LOCK
from ops.local.file_lock import held
from ops.refused import Refused

if TYPE_CHECKING:
    from handlers.runtime.settings import Settings


class NotDeployed(Refused):
    """The table has the queue, and the environment has it not yet."""


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """An environment, on AWS or in the local one. endpoint: the local AWS's URL, None for AWS."""

    environment: Environment
    endpoint: str | None = None
    _clients: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def client(self, service: str) -> Any:
        """A client of boto3, with whatever credentials it finds; the same one each time. Raises botocore's errors."""
        if service not in self._clients:
            self._clients[service] = self._open(service)
        return self._clients[service]

    def _open(self, service: str) -> Any:
        if self.endpoint is not None:
            from ops.local.aws.clients import client
            from ops.local.aws.settings import Settings

            return client(service, self.endpoint, Settings(Path()).region)
        return open_client(service, region=self.environment.region)

    @property
    def remedy(self) -> str:
        """What to do about a queue that is not there."""
        return f"deploy {self.environment.name} first" if self.endpoint is None else "restart `make run` to deploy it"

    def queue_name(self, job: Job, *, dead: bool = False) -> str:
        """The name of the job's queue, or of that for its dead letters."""
        fifo = FIFO if job.queue is not None and job.queue.fifo else ""
        return f"{self.environment.name_of(job.name)}{DEAD_LETTERS if dead else ''}{fifo}"

    def url(self, job: Job, *, dead: bool = False) -> str:
        """The URL of a queue that is there. Raises NotDeployed, and botocore's errors."""
        from botocore.exceptions import ClientError

        sqs, name = self.client("sqs"), self.queue_name(job, dead=dead)
        try:
            url: str = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        except ClientError as error:
            if (
                "NonExistentQueue" in error.response["Error"]["Code"]
                or "DoesNotExist" in error.response["Error"]["Code"]
            ):
                raise NotDeployed(f"there is no queue {name} here: {self.remedy}") from error
            raise
        return url

    def ledger(self, environ: Mapping[str, str] = os.environ) -> Settings:
        """The settings of the environment's ledger. Raises Refused, InvalidSettings."""
        if self.endpoint is not None:
            from handlers.runtime.settings import read_settings

            url = configured.LOCAL_URL.read_text().strip()
            return read_settings({"SHIFTLOCK_ENVIRONMENT": "local", configured.URL: url})
        name = self.environment.name
        if not any(environ.get(variable) for variable in (configured.URL, configured.HOST)):
            raise Refused(
                f"--env {name}: no ledger of it is named: set {configured.URL}, or {configured.HOST} and so on"
            )
        if (other := environ.get("SHIFTLOCK_ENVIRONMENT", name)) != name:
            raise Refused(
                f"--env {name}: SHIFTLOCK_ENVIRONMENT is {other!r}, so the ledger is another's: set both alike"
            )
        return configured.needed({**environ, "SHIFTLOCK_ENVIRONMENT": name})


def queue_place(environment: str | None) -> QueuePlace:
    """The named environment on AWS; without a name that of the running `make run`. Raises Refused."""
    if environment is not None:
        try:
            return QueuePlace(choose(ENVIRONMENTS, environment)[0])
        except UnknownEnvironment as error:
            raise Refused(str(error)) from error
    data = configured.LOCAL_URL.parent
    if not (held(data / LOCK) and (data / ENDPOINT).is_file()):
        raise Refused("no local AWS is running: start one with `make run`, or give --env NAME for one on AWS")
    return QueuePlace(ENVIRONMENT, (data / ENDPOINT).read_text().strip())


def job_with_queue(name: str) -> Job:
    """The job of that name, which has a queue. Raises UnknownJob, and Refused when it has none."""
    job = SCHEDULE.find(name)
    if job.queue is None:
        having = ", ".join(each.name for each in SCHEDULE if each.queue is not None)
        raise Refused(f"{name} has no queue: allowed is {having or 'no job so far, none has one'}")
    return job


@contextmanager
def asking_aws() -> Iterator[None]:
    """What AWS refuses in the block is refused in one line. Raises Refused."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise Refused(f"AWS says: {error}") from error
