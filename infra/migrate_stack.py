"""The task that brings the ledger's schema up to date: deployed after the database and run before the jobs are.

Beside it, for a database of our own, the task that makes the database's users when it is new: as the master user, who
logs in with a signed token as all do, so that no password exists and the first deploy needs nobody's hand.

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

MIGRATE = ("python", "-m", "handlers.runtime.migrate_entry")
MAKE_USERS = ("python", "-m", "handlers.runtime.users_entry")
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
        log = logs.CfnLogGroup(
            inside,
            "Log",
            log_group_name=environment.log_group("_migrate"),
            retention_in_days=environment.log_days,
        )
        log.apply_removal_policy(RemovalPolicy.DESTROY)
        group = logs.LogGroup.from_log_group_name(inside, "NamedLog", log.ref)
        image = ecr_assets.DockerImageAsset(
            inside, "Image", directory=str(bundle.image), platform=ecr_assets.Platform.LINUX_ARM64
        )
        starts = execution_role(inside, image.repository.repository_arn, group.log_group_arn)

        def task(place: Construct, name: str, entry: tuple[str, ...], user: str, may: iam.PolicyStatement) -> str:
            # No job's family can be called that: names of jobs have no underscore.
            family = f"{environment.prefix}_{name}"
            task_definition(
                place,
                family=family,
                image=image.image_uri,
                command=entry,
                cpu=CPU,
                memory=MEMORY,
                disk=DISK,
                variables={**variables(environment, data.database), "SHIFTLOCK_DATABASE_USER": user},
                group=group,
                role=iam.Role(
                    place,
                    "Role",
                    assumed_by=tasks_principal(place),
                    description=f"What {family} may do",
                    inline_policies={name: iam.PolicyDocument(statements=[may])},
                ),
                execution_role=starts,
            )
            return family

        database = data.database
        outputs = {
            "Cluster": cluster(inside, environment.migrate_stack).ref,
            "Family": task(inside, "migrate", MIGRATE, database.migrator, database.migrate_statement()),
            "Subnets": Fn.join(",", data.network.tasks),
            "SecurityGroup": data.network.jobs.security_group_id,
            "PublicIp": "ENABLED" if data.network.public_ip else "DISABLED",
            "LogGroup": log.ref,
        }
        if (master := database.master) is not None:
            users = Construct(self, "Users")
            outputs["UsersFamily"] = task(users, "users", MAKE_USERS, master, database.master_statement(master))
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
