"""The alarms of an environment: how each of them is made, and the topic that all of them tell."""

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.environment import Environment
from infra.metric import Expression, Metric
from infra.watched import watched

PERIOD = 300


class Alarms(Construct):
    """Makes alarms that tell one SNS topic, when they go off and when they are over. made: all so far, by name."""

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(scope, "Alarms")
        self.environment = environment
        self.made: dict[str, cloudwatch.CfnAlarm] = {}
        self._topic = self._find_topic().topic_arn

    def add(
        self,
        scope: Construct,
        construct_id: str,
        name: str,
        says: str,
        of: Metric | Expression,
        *,
        threshold: int = 1,
        below: bool = False,
        period: int = PERIOD,
        periods: int = 1,
    ) -> None:
        """So many or more are too many, and no data is good news; `below`, fewer are too few, and no data is none.

        says: sentences for the one who is called, of which the last ends with the command to act. period: seconds.
        """
        full_name = f"{self.environment.prefix}-{name}"
        self.made[full_name] = cloudwatch.CfnAlarm(
            scope,
            construct_id,
            alarm_name=full_name,
            alarm_description=says,
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator="LessThanThreshold" if below else "GreaterThanOrEqualToThreshold",
            treat_missing_data="breaching" if below else "notBreaching",
            alarm_actions=[self._topic],
            ok_actions=[self._topic],
            **watched(of, period),
        )

    def _find_topic(self) -> sns.ITopic:
        environment = self.environment
        if environment.alarm_topic is not None:
            return sns.Topic.from_topic_arn(self, "Topic", environment.alarm_topic)
        topic = sns.Topic(self, "Topic", topic_name=environment.own_topic, enforce_ssl=True)
        # A policy of our own replaces the default one, by which alarms of the account may publish.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsPublish",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
        if environment.alarm_email is not None:
            topic.add_subscription(subscriptions.EmailSubscription(environment.alarm_email))
        return topic
