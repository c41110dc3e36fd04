"""Where a start that could not be delivered ends: one queue for all jobs of an environment."""

from aws_cdk import ArnFormat, Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.destination import Destination
from infra.environment import Environment


class DeadLetters(Construct):
    """The dead-letter queue. `arn` is all that jobs get of it.

    A queue policy holds 20 statements ("Amazon SQS policy quotas"), and CDK adds one for every rule that is handed
    the queue itself: one statement by name prefix serves any number of rules instead.
    """

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(scope, "DeadLetters")
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=environment.dead_letters,
            retention_period=Duration.days(14),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            removal_policy=RemovalPolicy.RETAIN if environment.protected else RemovalPolicy.DESTROY,
        )
        acknowledge(
            self.queue,
            "SQS3",
            "It is the dead-letter queue: of rules, schedules and functions, not of a queue.",
        )
        self.queue.add_to_resource_policy(
            iam.PolicyStatement(
                sid="TlsOnly",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["sqs:*"],
                resources=[self.queue.queue_arn],
                conditions={"Bool": {"aws:SecureTransport": "false"}},
            )
        )
        rules = [
            Stack.of(self).format_arn(
                service="events", resource="rule", resource_name=name, arn_format=ArnFormat.SLASH_RESOURCE_NAME
            )
            for name in (environment.name_of("*"), environment.platform_name("*"))
        ]
        self.queue.add_to_resource_policy(
            iam.PolicyStatement(
                sid="RulesSendDeadLetters",
                principals=[iam.ServicePrincipal("events.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[self.queue.queue_arn],
                conditions={"ArnLike": {"aws:SourceArn": rules}},
            )
        )

    @property
    def arn(self) -> str:
        """ARN of the queue."""
        return self.queue.queue_arn

    @property
    def destination(self) -> Destination:
        """The queue as the destination of a function's records."""
        return Destination(self.arn, self.send_statement())

    def send_statement(self) -> iam.PolicyStatement:
        """Leave to send to the queue, for senders that come with a role of their own."""
        return iam.PolicyStatement(sid="SendDeadLetters", actions=["sqs:SendMessage"], resources=[self.arn])
