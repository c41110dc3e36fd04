"""The task that brings the ledger's schema up to date: deployed after the database and run before the jobs are.

A stack of its own, since jobs must not be deployed on a schema older than they need. Not a custom resource: that has
no log to look at, hangs for an hour when it fails, and cannot be started by hand.
"""

from aws_cdk import CfnOutput, Fn, RemovalPolicy, Stack
from aws_cdk import Environment as Place
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.bundle import Bundle
from infra.cluster import cluster
from infra.data_stack import DataStack
from infra.environment import Environment
from infra.execution_role import execution_role, tasks_principal
from infra.task_definition import task_definition
from infra.variables import variables

ENTRY = ("python", "-m", "handlers.runtime.migrate_entry")
CPU, MEMORY, DISK = 256, 512, 20 * 1024


class MigrateStack(Stack):
    """The migration task of an environment. Its outputs are what a person or a pipeline needs to run it."""

    def __init__(self, scope: Construct, environment: Environment, data: DataStack, bundle: Bundle) -> None:
        super().__init__(
            scope,
            environment.migrate_stack,
            env=Place(account=environment.account, region=environment.region),
            description=f"Shiftlock {environment.name}: migrations of the ledger",
        )
        # The outputs give out what another stack exports: whoever runs the task has one place to look.
        self.template_options.metadata = {"cfn-lint": {"config": {"ignore_checks": ["W6001"]}}}
        # Outputs are at the top, under names of their own.
        inside = Construct(self, "Migrate")
        # No job's family can be called that: names of jobs have no underscore.
        family = f"{environment.prefix}_migrate"
        log = logs.CfnLogGroup(
            inside,
            "Log",
            log_group_name=environment.log_group("_migrate"),
            retention_in_days=environment.log_days,
        )
        log.apply_removal_policy(RemovalPolicy.DESTROY)
        group = logs.LogGroup.from_log_group_name(inside, "NamedLog", log.ref)
        image = ecr_assets.DockerImageAsset(
            inside, "Image", directory=str(bundle.folder), platform=ecr_assets.Platform.LINUX_ARM64
        )
        task_definition(
            inside,
            family=family,
            image=image.image_uri,
            command=ENTRY,
            cpu=CPU,
            memory=MEMORY,
            disk=DISK,
            variables=variables(environment, data.database),
            group=group,
            role=iam.Role(
                inside,
                "Role",
                assumed_by=tasks_principal(inside),
                description=f"What the migrations of {environment.name} may do",
                inline_policies={"migrate": iam.PolicyDocument(statements=[data.database.connect_statement()])},
            ),
            execution_role=execution_role(inside, image.repository.repository_arn, group.log_group_arn),
        )
        where = cluster(inside, environment.migrate_stack)
        for name, value in {
            "Cluster": where.ref,
            "Family": family,
            "Subnets": Fn.join(",", data.network.tasks),
            "SecurityGroup": data.network.jobs.security_group_id,
            "PublicIp": "ENABLED" if data.network.public_ip else "DISABLED",
            "LogGroup": log.ref,
        }.items():
            CfnOutput(self, name, value=value)
