"""The queue of one job, the queue of its dead letters behind it, and the names by which the other stacks know them."""

from typing import Any

from aws_cdk import CfnDeletionPolicy, CfnResource, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from handlers.declaration.duration import days
from handlers.declaration.job import Job
from handlers.declaration.queue import Queue
from handlers.declaration.queue_limits import receives, visibility
from handlers.queues.address import DEAD_LETTERS, FIFO
from infra.acknowledged import acknowledge
from infra.environment import Environment

# As long as SQS keeps anything: a message keeps its age when it moves here ("Using dead-letter queues in Amazon SQS").
KEPT = days(14)


class JobQueue(Construct):
    """A standard or FIFO queue; what was taken too often, or has failed for good, goes to the other."""

    def __init__(self, scope: Construct, job: Job, queue: Queue, environment: Environment) -> None:
        super().__init__(scope, job.name)
        name = queue_name(environment, job)
        # L1: the L2 would have each of the two refer to the other, which CloudFormation cannot make.
        buried = sqs.CfnQueue(
            self,
            "DeadLetters",
            queue_name=dead_letters_name(environment, job),
            message_retention_period=int(KEPT.total_seconds()),
            redrive_allow_policy={"redrivePermission": "byQueue", "sourceQueueArns": [queue_arn(self, name)]},
            sqs_managed_sse_enabled=True,
            **_order(queue),
        )
        made = sqs.CfnQueue(
            self,
            "Queue",
            queue_name=name,
            delay_seconds=int(queue.delay.total_seconds()),
            visibility_timeout=int(visibility(job, queue, lambda_ceiling=environment.lambda_ceiling).total_seconds()),
            message_retention_period=int(queue.retention.total_seconds()),
            redrive_policy={"deadLetterTargetArn": buried.attr_arn, "maxReceiveCount": receives(job, queue)},
            sqs_managed_sse_enabled=True,
            **_order(queue),
        )
        for one, place in ((buried, "DeadLettersPolicy"), (made, "Policy")):
            _keep(one, environment)
            _tls_only(self, place, one)
        acknowledge(buried, "SQS3", "It is the dead-letter queue, of one queue and of no other.")


def queue_name(environment: Environment, job: Job) -> str:
    """Name of a job's queue."""
    return f"{environment.name_of(job.name)}{_end(job)}"


def dead_letters_name(environment: Environment, job: Job) -> str:
    """Name of the queue of a job's dead letters; no job's, which has no underscore."""
    return f"{environment.name_of(job.name)}{DEAD_LETTERS}{_end(job)}"


def queue_arn(scope: Construct, name: str) -> str:
    """ARN of a queue of this account and region.

    By name, and not by a reference to its stack: that could not let go of a queue while the jobs still look at it.
    """
    return Stack.of(scope).format_arn(service="sqs", resource=name)


def queues_url(scope: Construct, environment: Environment) -> str:
    """What the URL of each queue begins with, up to the job's name ("Amazon SQS queue and message identifiers")."""
    stack = Stack.of(scope)
    return f"https://sqs.{stack.region}.{stack.url_suffix}/{stack.account}/{environment.name_of('')}"


def _end(job: Job) -> str:
    return FIFO if job.queue is not None and job.queue.fifo else ""


def _order(queue: Queue) -> dict[str, Any]:
    if not queue.fifo:
        return {}
    return {
        "fifo_queue": True,
        # Two messages of one text may be two pieces of work: the sender says which are one.
        "content_based_deduplication": False,
        # "High throughput for FIFO queues": the order is that of a partition alone.
        "deduplication_scope": "messageGroup",
        "fifo_throughput_limit": "perMessageGroupId",
    }


def _keep(queue: CfnResource, environment: Environment) -> None:
    kept = CfnDeletionPolicy.RETAIN if environment.protected else CfnDeletionPolicy.DELETE
    queue.cfn_options.deletion_policy = queue.cfn_options.update_replace_policy = kept


def _tls_only(scope: Construct, construct_id: str, queue: sqs.CfnQueue) -> None:
    deny = iam.PolicyStatement(
        sid="TlsOnly",
        effect=iam.Effect.DENY,
        principals=[iam.AnyPrincipal()],
        actions=["sqs:*"],
        resources=[queue.attr_arn],
        conditions={"Bool": {"aws:SecureTransport": "false"}},
    )
    sqs.CfnQueuePolicy(scope, construct_id, queues=[queue.ref], policy_document=iam.PolicyDocument(statements=[deny]))
