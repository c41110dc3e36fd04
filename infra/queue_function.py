"""What hands the messages of a queue to the function of its job."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from infra.job_queue import queue_arn, queue_name
from infra.lambda_target import LambdaTarget
from infra.shared import Shared


class QueueFunction(Construct):
    """Lambda's own poller: it takes batches, and deletes of each what the function does not report as failed."""

    def __init__(self, scope: Construct, job: Job, queue: Queue, target: LambdaTarget, shared: Shared) -> None:
        super().__init__(scope, "Messages")
        lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            event_source_arn=queue_arn(self, queue_name(shared.environment, job)),
            function_name=target.arn,
            batch_size=queue.batch,
            function_response_types=["ReportBatchItemFailures"],
            # Not reserved concurrency, by which Lambda would throttle the poller and use up receives of messages.
            scaling_config=lambda_.CfnEventSourceMapping.ScalingConfigProperty(maximum_concurrency=queue.concurrency),
            enabled=job.name not in shared.environment.schedules_off,
        )
