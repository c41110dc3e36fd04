"""What wakes somebody: per job that it failed or is silent, per environment each way in which a start gets lost."""

from collections.abc import Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.signals import CLOCK, ENVIRONMENT, JOB, NAMESPACE, SERVICE, SERVICE_NAME, Signal
from infra.environment import Environment
from infra.silence import Window, silence_window

PERIOD = Duration.minutes(5)
# A clock makes a pass each minute, and a task that ends is replaced within two.
PASS, PASSES_MISSED = Duration.minutes(1), 5
# "Using metric math": an alarm on an expression can use 10 metrics.
METRICS_OF_AN_EXPRESSION = 10


class Alarms(Construct):
    """The alarms of an environment. All of them tell one SNS topic, when they go off and when they are over."""

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(scope, "Alarms")
        self._environment = environment
        self._queue = f"the queue {environment.prefix}-dead-letters"
        self._starts = (
            f"the log {environment.clock_log}"
            if environment.scheduler == "clock"
            else f"{self._queue} and at the stopped tasks of the cluster"
        )
        self._action = actions.SnsAction(self._topic())

    def watch_job(self, scope: Construct, job: Job) -> None:
        """Alarm on failed runs of a job and, where a window can be watched and it is not off here, on its silence."""
        self._watch_failures(scope, job)
        window = silence_window(job)
        if window is not None and job.name not in self._environment.schedules_off:
            self._watch_silence(scope, job, window)

    def watch_clock(self) -> None:
        """Alarm when no clock has made a pass for some minutes; also in a new environment, until one has."""
        environment = self._environment
        self._alarm(
            self,
            "NoClockBeat",
            "no-clock-pass",
            f"No clock of {environment.name} has looked at the ledger for {PASSES_MISSED} minutes: no job starts. See "
            f"the events of the service {environment.clock} and the log {environment.clock_log}, and check the "
            "database with `jobs doctor`. What is missed meanwhile is caught up as each job declares.",
            self._signal(Signal.CLOCK_BEAT, CLOCK, PASS),
            below=True,
            periods=PASSES_MISSED,
        )

    def _watch_failures(self, scope: Construct, job: Job) -> None:
        self._alarm(
            scope,
            "Failed",
            f"{job.name}-failed",
            f"A run of {job.name} failed for good in {self._environment.name}. "
            f"See why with `jobs runs {job.name}`, put it right, then start it again with `jobs retry`.",
            self._signal(Signal.FAILED, job.name, PERIOD),
        )

    def _watch_silence(self, scope: Construct, job: Job, window: Window) -> None:
        """No run of a job has succeeded for a whole window; also in a new environment, until one has."""
        self._alarm(
            scope,
            "Silent",
            f"{job.name}-silent",
            f"No run of {job.name} has succeeded in {self._environment.name} for {window.length}, and it is due more "
            f"often. See whether it starts with `jobs runs {job.name}`; if not, look into {self._starts}.",
            self._signal(Signal.SUCCEEDED, job.name, Duration.seconds(window.period.total_seconds())),
            below=True,
            periods=window.periods,
        )

    def watch_rules(self, rules: Sequence[str]) -> None:
        """Alarm on starts that a rule of this environment could not deliver."""
        for first in range(0, len(rules), METRICS_OF_AN_EXPRESSION):
            some = rules[first : first + METRICS_OF_AN_EXPRESSION]
            number = first // METRICS_OF_AN_EXPRESSION + 1
            failed = {
                f"m{place}": _sum("AWS/Events", "FailedInvocations", {"RuleName": rule}, PERIOD)
                for place, rule in enumerate(some)
            }
            self._alarm(
                self,
                f"RuleErrors{number}",
                f"rules-not-started-{number}",
                f"EventBridge could not start one of {', '.join(some)}. The event and the reason are in {self._queue}; "
                "put it right, then start the job with `jobs run`.",
                cloudwatch.MathExpression(
                    expression="SUM(METRICS())", using_metrics=failed, period=PERIOD, label="FailedInvocations"
                ),
            )

    def watch_schedules(self, group: str) -> None:
        """Alarm on starts that a schedule of this group could not deliver."""
        self._alarm(
            self,
            "ScheduleErrors",
            "schedules-not-started",
            f"EventBridge Scheduler could not start a job of {self._environment.name}; it may have tried again. "
            f"What it gave up is in {self._queue}, with job and reason: start it with `jobs run`.",
            _sum("AWS/Scheduler", "TargetErrorCount", {"ScheduleGroup": group}, PERIOD),
        )

    def watch_dead_letters(self, queue: str) -> None:
        """Alarm while the dead-letter queue holds anything."""
        self._alarm(
            self,
            "DeadLetters",
            "dead-letters",
            f"Something lies in {self._queue}: a start that could not be delivered, or a call of a function that "
            "failed. The message names job, time and reason. See with `jobs runs` whether the ledger has made up for "
            "it, start the job with `jobs run` if not, then delete the message.",
            cloudwatch.Metric(
                namespace="AWS/SQS",
                metric_name="ApproximateNumberOfMessagesVisible",
                dimensions_map={"QueueName": queue},
                statistic="Maximum",
                period=PERIOD,
            ),
        )

    def _signal(self, signal: Signal, job: str, period: Duration) -> cloudwatch.Metric:
        dimensions = {SERVICE: SERVICE_NAME, ENVIRONMENT: self._environment.name, JOB: job}
        return _sum(NAMESPACE, signal, dimensions, period)

    def _alarm(
        self,
        scope: Construct,
        construct_id: str,
        name: str,
        description: str,
        metric: cloudwatch.IMetric,
        *,
        below: bool = False,
        periods: int = 1,
    ) -> None:
        """One or more is too many, and no data is good news; `below`, none is too few, and no data is none."""
        comparison, missing = cloudwatch.ComparisonOperator, cloudwatch.TreatMissingData
        alarm = cloudwatch.Alarm(
            scope,
            construct_id,
            alarm_name=f"{self._environment.prefix}-{name}",
            alarm_description=description,
            metric=metric,
            threshold=1,
            evaluation_periods=periods,
            comparison_operator=(
                comparison.LESS_THAN_THRESHOLD if below else comparison.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
            ),
            treat_missing_data=missing.BREACHING if below else missing.NOT_BREACHING,
        )
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)

    def _topic(self) -> sns.ITopic:
        environment = self._environment
        if environment.alarm_topic is not None:
            return sns.Topic.from_topic_arn(self, "Topic", environment.alarm_topic)
        topic = sns.Topic(self, "Topic", topic_name=f"{environment.prefix}-alarms", enforce_ssl=True)
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


def _sum(namespace: str, name: str, dimensions: dict[str, str], period: Duration) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace, metric_name=name, dimensions_map=dimensions, statistic="Sum", period=period
    )
