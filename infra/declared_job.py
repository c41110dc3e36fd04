"""One declared job with all that runs it on AWS: a place to run, a log group, what starts it."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.placement import Placement, place
from infra.destination import Destination
from infra.fargate_target import FargateTarget
from infra.lambda_target import LambdaTarget
from infra.queue_function import QueueFunction
from infra.queue_worker import QueueWorker
from infra.shared import Shared
from infra.target import Target
from infra.trigger import RuleTrigger, ScheduleTrigger


class DeclaredJob(Construct):
    """A job of the table. `target` is one run of it, which its trigger, the dispatcher or a person starts.

    failures: where a function's failed calls are told.
    """

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
        self._place(job, placement, named, shared, failures)
        if not job.scheduled:
            return
        if job.schedule.zone is None:
            RuleTrigger(self, job, placement.because, self.target, shared)
        else:
            ScheduleTrigger(self, job, placement.because, self.target, shared)

    def _place(
        self, job: Job, placement: Placement, group: logs.ILogGroup, shared: Shared, failures: Destination
    ) -> None:
        """Make what runs the job, and what hands it the messages of its queue if it has one."""
        if placement.compute == "lambda":
            function = LambdaTarget(self, job, placement, group, shared, failures)
            self.target = function
            if job.queue is not None:
                QueueFunction(self, job, job.queue, function, shared)
        else:
            task = FargateTarget(self, job, placement, group, shared)
            self.target = task
            if job.queue is not None:
                QueueWorker(self, job, job.queue, placement, task, group, shared)
