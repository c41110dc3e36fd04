"""A job that runs on Lambda: one function of its own, all from the same bundle."""

import json

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.placement import START_AND_STOP_MARGIN, Placement
from infra.acknowledged import acknowledge, acknowledge_wildcard
from infra.packages import RUNTIME_PYTHON
from infra.permissions import DELIVERY_AGE, network_statements, write_logs
from infra.shared import Shared
from infra.target import TaskStart

HANDLER = "handlers.runtime.lambda_entry.handler"
RUNTIME = f"python{RUNTIME_PYTHON}"
# "Lambda API reference", CreateFunction.
LONGEST_DESCRIPTION = 256


class LambdaTarget(Construct):
    """The function of a job, started at most once per event: retries are the ledger's."""

    task: TaskStart | None = None

    def __init__(self, scope: Construct, job: Job, placement: Placement, group: logs.ILogGroup, shared: Shared) -> None:
        super().__init__(scope, "Lambda")
        name = shared.name_of(job.name)
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What {name} may do",
            inline_policies={
                "job": iam.PolicyDocument(
                    statements=[
                        write_logs(group),
                        *network_statements(self, name),
                        shared.database.connect_statement(),
                        shared.dead_letters.send_statement(),
                    ]
                )
            },
        )
        acknowledge_wildcard(
            role,
            "*",
            "EC2 checks the six actions on network interfaces against `*`; the function's own code is denied them.",
        )
        acknowledge_wildcard(
            role,
            group.log_group_arn,
            "The streams of one log group, whose names Lambda makes up.",
        )
        network = shared.network
        self._function = lambda_.CfnFunction(
            self,
            "Function",
            function_name=name,
            description=job.description[:LONGEST_DESCRIPTION],
            runtime=RUNTIME,
            architectures=["arm64"],
            handler=HANDLER,
            code=lambda_.CfnFunction.CodeProperty(
                s3_bucket=shared.code.s3_bucket_name, s3_key=shared.code.s3_object_key
            ),
            role=role.role_arn,
            timeout=int((job.longest_run + START_AND_STOP_MARGIN).total_seconds()),
            memory_size=placement.memory,
            ephemeral_storage=lambda_.CfnFunction.EphemeralStorageProperty(size=placement.disk),
            environment=lambda_.CfnFunction.EnvironmentProperty(
                variables={**shared.variables, "SHIFTLOCK_JOB": job.name}
            ),
            logging_config=lambda_.CfnFunction.LoggingConfigProperty(log_group=group.log_group_name),
            vpc_config=lambda_.CfnFunction.VpcConfigProperty(
                subnet_ids=network.private,
                security_group_ids=[network.jobs.security_group_id],
            ),
        )
        acknowledge(self._function, "L1", "The image and the bytecode of the bundle are made for the same Python.")
        self.prerequisite = lambda_.CfnEventInvokeConfig(
            self,
            "Invoke",
            function_name=self._function.ref,
            qualifier="$LATEST",
            maximum_retry_attempts=0,
            maximum_event_age_in_seconds=DELIVERY_AGE,
            destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(destination=shared.dead_letters.arn)
            ),
        )

    @property
    def arn(self) -> str:
        """ARN of the function."""
        return self._function.attr_arn

    def message(self, trigger: str, time: str) -> str:
        """The event of the function."""
        return f'{{"trigger": {json.dumps(trigger)}, "time": {time}}}'

    def start_statements(self) -> list[iam.PolicyStatement]:
        """Leave to call the function."""
        return [iam.PolicyStatement(sid="InvokeFunction", actions=["lambda:InvokeFunction"], resources=[self.arn])]
