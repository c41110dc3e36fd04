"""A CDK app of the product's kind, small: run with a folder, it writes its cloud assembly there."""

import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_logs as logs
from aws_cdk import aws_rds as rds
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

HERE = Path(__file__).parent
NEVER = "cron(0 0 1 1 ? 2199)"
TIME = {"time": "$.time"}


class Base(cdk.Stack):
    def __init__(self, app: cdk.App) -> None:
        super().__init__(app, "sample-base")
        self.vpc = ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1)
        self.group = ec2.SecurityGroup(self, "Group", vpc=self.vpc, allow_all_outbound=False)
        self.group.add_ingress_rule(self.group, ec2.Port.tcp(5432))
        self.group.add_egress_rule(self.group, ec2.Port.tcp(5432))
        self.database = rds.DatabaseInstance(
            self,
            "Database",
            engine=rds.DatabaseInstanceEngine.postgres(version=rds.PostgresEngineVersion.VER_18),
            vpc=self.vpc,
            security_groups=[self.group],
        )
        cdk.CfnOutput(self, "DatabasePort", value=self.database.db_instance_endpoint_port)


class Jobs(cdk.Stack):
    def __init__(self, app: cdk.App, base: Base) -> None:
        super().__init__(app, "sample-jobs")
        self.letters = sqs.Queue(self, "Letters", queue_name="letters")
        self.code = lambda_.Code.from_asset(str(HERE / "function"))
        self.worker = self.function("worker", base)
        self.recorder = self.function("recorder", base)
        self.tasks(base)
        self.workers(base)
        self.invocations()
        self.alarms()
        for state in ("ENABLED", "DISABLED"):
            self.rule(f"to-lambda-{state.lower()}", NEVER, self.to_lambda(), state)
        self.rule("to-task", NEVER, self.to_task())
        nothing = {**self.to_task(), "ecsParameters": {"taskDefinitionArn": "absent"}}
        self.rule("to-nothing", NEVER, nothing)
        pattern = {"source": ["sample"], "detail-type": ["to nothing"]}
        events.CfnRule(self, "on-event", name="on-event-to-nothing", event_pattern=pattern, targets=[nothing])
        ticker = {**self.to_lambda(), "arn": self.function("ticker", base).function_arn}
        self.rule("every-minute", "cron(* * * * ? *)", ticker)
        self.schedules()
        task_events = events.CfnRule(
            self,
            "TaskEvents",
            event_pattern={"source": ["aws.ecs"], "detail-type": ["ECS Task State Change"]},
            targets=[events.CfnRule.TargetProperty(id="recorder", arn=self.recorder.function_arn)],
        )
        task_events.node.add_dependency(self.recorder)

    def function(self, name: str, base: Base) -> lambda_.Function:
        return lambda_.Function(
            self,
            name,
            function_name=name,
            runtime=lambda_.Runtime.PYTHON_3_13,
            handler="package.entry.handler",
            code=self.code,
            timeout=cdk.Duration.seconds(3),
            vpc=base.vpc,
            security_groups=[base.group],
            log_group=logs.LogGroup(self, f"{name}-log", log_group_name=f"/sample/{name}"),
            environment={"NAME": name, "DATABASE_HOST": base.database.db_instance_endpoint_address},
        )

    def tasks(self, base: Base) -> None:
        self.cluster = ecs.Cluster(self, "Cluster", cluster_name="sample", vpc=base.vpc)
        self.task = ecs.FargateTaskDefinition(self, "Task", family="sample-task", cpu=256, memory_limit_mib=512)
        self.task.add_container(
            "job",
            image=ecs.ContainerImage.from_asset(str(HERE / "image")),
            command=["python", "-m", "work", "declared"],
            environment={"DATABASE_HOST": base.database.db_instance_endpoint_address},
            stop_timeout=cdk.Duration.seconds(60),
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix="task", log_group=logs.LogGroup(self, "task-log", log_group_name="/sample/task")
            ),
        )
        broken = ecs.FargateTaskDefinition(self, "Broken", family="broken-task", cpu=256, memory_limit_mib=512)
        broken.add_container(
            "job", image=ecs.ContainerImage.from_asset(str(HERE / "image")), command=["no-such-program"]
        )
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("events.amazonaws.com"))
        self.subnets = base.vpc.select_subnets(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS).subnet_ids
        self.security_group = base.group.security_group_id

    def workers(self, base: Base) -> None:
        """A service that its queue scales between 0 and 2 tasks."""
        queue = sqs.Queue(self, "Work", queue_name="work")
        task = ecs.FargateTaskDefinition(self, "Worker", family="sample-worker", cpu=256, memory_limit_mib=512)
        task.add_container(
            "job",
            image=ecs.ContainerImage.from_asset(str(HERE / "image")),
            command=["python", "-m", "work"],
            environment={"DO": "wait", "SAY": "working"},
        )
        service = ecs.CfnService(
            self,
            "Service",
            service_name="sample-worker",
            cluster=self.cluster.cluster_name,
            task_definition=task.task_definition_arn,
            launch_type="FARGATE",
            network_configuration=ecs.CfnService.NetworkConfigurationProperty(
                awsvpc_configuration=ecs.CfnService.AwsVpcConfigurationProperty(subnets=self.subnets)
            ),
        )
        target = scaling.CfnScalableTarget(
            self,
            "Target",
            min_capacity=0,
            max_capacity=2,
            resource_id=f"service/{self.cluster.cluster_name}/{service.attr_name}",
            scalable_dimension="ecs:service:DesiredCount",
            service_namespace="ecs",
        )
        step = scaling.CfnScalingPolicy.StepAdjustmentProperty(scaling_adjustment=1, metric_interval_lower_bound=0)
        policy = scaling.CfnScalingPolicy(
            self,
            "Policy",
            policy_name="grow",
            policy_type="StepScaling",
            scaling_target_id=target.ref,
            step_scaling_policy_configuration=scaling.CfnScalingPolicy.StepScalingPolicyConfigurationProperty(
                adjustment_type="ChangeInCapacity", step_adjustments=[step]
            ),
        )
        cloudwatch.CfnAlarm(
            self,
            "Waiting",
            namespace="AWS/SQS",
            metric_name="ApproximateNumberOfMessagesVisible",
            dimensions=[{"name": "QueueName", "value": queue.queue_name}],
            statistic="Maximum",
            period=60,
            threshold=1,
            evaluation_periods=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            alarm_actions=[policy.ref],
        )

    def invocations(self) -> None:
        done = sqs.Queue(self, "Done", queue_name="done")
        self.worker.configure_async_invoke(
            retry_attempts=0,
            on_success=destinations.SqsDestination(done),
            on_failure=destinations.SqsDestination(self.letters),
        )

    def alarms(self) -> None:
        topic = sns.Topic(self, "Topic")
        rate = cloudwatch.MathExpression(
            expression="a + b", using_metrics={name: self.worker.metric_errors() for name in ("a", "b")}
        )
        alarms = (
            self.worker.metric_errors().create_alarm(self, "Plain", threshold=1, evaluation_periods=1),
            rate.create_alarm(self, "Math", threshold=1, evaluation_periods=1),
        )
        cloudwatch.CompositeAlarm(
            self,
            "Either",
            alarm_rule=cloudwatch.AlarmRule.any_of(
                *(cloudwatch.AlarmRule.from_alarm(alarm, cloudwatch.AlarmState.ALARM) for alarm in alarms)
            ),
        )
        cdk.CfnOutput(self, "TopicArn", value=topic.topic_arn)

    def to_lambda(self) -> dict[str, object]:
        template = '{"trigger": "rule", "time": <time>}'
        return {
            "id": "target",
            "arn": self.worker.function_arn,
            "inputTransformer": {"inputPathsMap": TIME, "inputTemplate": template},
        }

    def to_task(self) -> dict[str, object]:
        environment = '[{"name": "EVENT_TIME", "value": <time>}]'
        return {
            "id": "target",
            "arn": self.cluster.cluster_arn,
            "roleArn": self.role.role_arn,
            "deadLetterConfig": {"arn": self.letters.queue_arn},
            "ecsParameters": {
                "taskDefinitionArn": self.task.task_definition_arn,
                "launchType": "FARGATE",
                "networkConfiguration": {
                    "awsVpcConfiguration": {"subnets": self.subnets, "securityGroups": [self.security_group]}
                },
            },
            "inputTransformer": {
                "inputPathsMap": TIME,
                "inputTemplate": f'{{"containerOverrides": [{{"name": "job", "environment": {environment}}}]}}',
            },
        }

    def rule(self, name: str, expression: str, target: dict[str, object], state: str = "ENABLED") -> None:
        events.CfnRule(self, name, name=name, schedule_expression=expression, state=state, targets=[target])

    def schedules(self) -> None:
        scheduler.CfnSchedule(
            self,
            "in-riyadh",
            name="in-riyadh",
            schedule_expression="cron(0 2 * * ? 2199)",
            schedule_expression_timezone="Asia/Riyadh",
            flexible_time_window={"mode": "OFF"},
            target={
                "arn": self.worker.function_arn,
                "roleArn": self.role.role_arn,
                "input": '{"trigger": "schedule", "time": "<aws.scheduler.scheduled-time>"}',
            },
        )


if __name__ == "__main__":
    sample = cdk.App(outdir=sys.argv[1])
    Jobs(sample, Base(sample))
    sample.synth()
