"""One declared job with all that runs it on AWS: a place to run, a log group, one trigger."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.placement import place
from infra.destination import Destination
from infra.fargate_target import FargateTarget
from infra.lambda_target import LambdaTarget
from infra.shared import Shared
from infra.target import Target
from infra.trigger import RuleTrigger, ScheduleTrigger


class ScheduledJob(Construct):
    """A job of the table. `target` is what its trigger starts. failures: where a function's failed calls are told."""

    target: Target

    def __init__(self, scope: Construct, job: Job, shared: Shared, failures: Destination) -> None:
        super().__init__(scope, job.name)
        placement = place(job, lambda_ceiling=shared.environment.lambda_ceiling)
        group = logs.CfnLogGroup(
            self,
            "Log",
            log_group_name=shared.environment.log_group(job.name),
            retention_in_days=shared.environment.log_days,
        )
        group.apply_removal_policy(RemovalPolicy.DESTROY)
        named = logs.LogGroup.from_log_group_name(self, "NamedLog", group.ref)
        if placement.compute == "lambda":
            self.target = LambdaTarget(self, job, placement, named, shared, failures)
        else:
            self.target = FargateTarget(self, job, placement, named, shared)
        if job.schedule.zone is None:
            RuleTrigger(self, job, placement.because, self.target, shared)
        else:
            ScheduleTrigger(self, job, placement.because, self.target, shared)
