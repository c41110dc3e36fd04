"""A job that runs on Lambda: one function of its own, all from the same bundle."""

import json

from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.placement import Placement
from handlers.declaration.queue_limits import function_timeout
from infra.destination import Calls, Destination
from infra.function import function
from infra.grants import acknowledge_folders, file_grants, queue_grants
from infra.permissions import DELIVERY_AGE
from infra.shared import Shared
from infra.target import TaskStart

HANDLER = "handlers.runtime.lambda_entry.handler"
# The same, which also knows batches of messages.
QUEUE_HANDLER = "handlers.runtime.queue_entry.handler"


class LambdaTarget(Construct):
    """The function of a job, started at most once per event: retries are the ledger's.

    failures: where the record of a call goes that failed.
    """

    task: TaskStart | None = None

    def __init__(
        self,
        scope: Construct,
        job: Job,
        placement: Placement,
        group: logs.ILogGroup,
        shared: Shared,
        failures: Destination,
    ) -> None:
        super().__init__(scope, "Lambda")
        ceiling = shared.environment.lambda_ceiling
        made = function(
            self,
            name=shared.name_of(job.name),
            description=job.description,
            handler=HANDLER if job.queue is None else QUEUE_HANDLER,
            code=shared.code,
            timeout=int(function_timeout(job, lambda_ceiling=ceiling).total_seconds()),
            memory=placement.memory,
            disk=placement.disk,
            variables={**shared.work_variables, "SHIFTLOCK_JOB": job.name},
            group=group,
            network=shared.network,
            statements=[
                shared.database.connect_statement(),
                *file_grants((job,), shared.files),
                *queue_grants(self, job, shared.catalogue, shared.environment),
            ],
            calls=Calls(retries=0, age=DELIVERY_AGE, on_failure=failures),
        )
        acknowledge_folders(made.role, (job,), shared.files)
        self._arn = made.arn
        self.prerequisite = made.invoke

    @property
    def arn(self) -> str:
        """ARN of the function."""
        return self._arn

    def message(self, trigger: str, time: str) -> str:
        """The event of the function."""
        return f'{{"trigger": {json.dumps(trigger)}, "time": {time}}}'

    def start_statements(self) -> list[iam.PolicyStatement]:
        """Leave to call the function."""
        return [iam.PolicyStatement(sid="InvokeFunction", actions=["lambda:InvokeFunction"], resources=[self.arn])]
