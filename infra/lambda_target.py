"""A job that runs on Lambda: one function of its own, all from the same bundle."""

import json

from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.placement import START_AND_STOP_MARGIN, Placement
from infra.destination import Calls, Destination
from infra.function import function
from infra.permissions import DELIVERY_AGE
from infra.shared import Shared
from infra.target import TaskStart

HANDLER = "handlers.runtime.lambda_entry.handler"


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
        made = function(
            self,
            name=shared.name_of(job.name),
            description=job.description,
            handler=HANDLER,
            code=shared.code,
            timeout=int((job.longest_run + START_AND_STOP_MARGIN).total_seconds()),
            memory=placement.memory,
            disk=placement.disk,
            variables={**shared.variables, "SHIFTLOCK_JOB": job.name},
            group=group,
            network=shared.network,
            statements=[shared.database.connect_statement()],
            calls=Calls(retries=0, age=DELIVERY_AGE, on_failure=failures),
        )
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
