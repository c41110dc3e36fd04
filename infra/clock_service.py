"""The clock instead of EventBridge: an ECS service whose tasks start the jobs as child processes."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from infra.clock_size import clock_size
from infra.data_stack import DataStack
from infra.environment import Environment
from infra.execution_role import execution_role, tasks_principal
from infra.grants import acknowledge_folders, file_grants
from infra.task_definition import task_definition
from infra.variables import variables, work

ENTRY = ("python", "-m", "handlers.runtime.clock_entry")


class ClockService(Construct):
    """The service of an environment, with one role and one log for all jobs: they are processes of one container."""

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        catalogue: Catalogue,
        data: DataStack,
        image: ecr_assets.DockerImageAsset,
        cluster: ecs.CfnCluster,
    ) -> None:
        super().__init__(scope, "Clock")
        log = logs.CfnLogGroup(
            self, "Log", log_group_name=environment.clock_log, retention_in_days=environment.log_days
        )
        log.apply_removal_policy(RemovalPolicy.DESTROY)
        group = logs.LogGroup.from_log_group_name(self, "NamedLog", log.ref)
        role = iam.Role(
            self,
            "Role",
            assumed_by=tasks_principal(self),
            description=f"What the clock of {environment.name} and its jobs may do",
            inline_policies={
                "clock": iam.PolicyDocument(
                    statements=[data.database.connect_statement(), *file_grants(catalogue, data.files)]
                )
            },
        )
        acknowledge_folders(role, catalogue, data.files)
        size = clock_size(catalogue, environment.clock_children)
        task = task_definition(
            self,
            family=environment.clock,
            image=image.image_uri,
            command=ENTRY,
            cpu=size.cpu,
            memory=size.memory,
            disk=size.disk,
            variables={
                **variables(environment, data.database),
                **work(self, environment, data.files),
                "SHIFTLOCK_ROLE": "clock",
                "SHIFTLOCK_CHILDREN": str(environment.clock_children),
            },
            group=group,
            role=role,
            execution_role=execution_role(self, image.repository.repository_arn, group.log_group_arn),
        )
        network = data.network
        of = ecs.CfnService
        of(
            self,
            "Service",
            service_name=environment.clock,
            cluster=cluster.ref,
            task_definition=task.ref,
            launch_type="FARGATE",
            desired_count=environment.clocks,
            deployment_configuration=of.DeploymentConfigurationProperty(
                # Any number of clocks is safe: the new ones start while the old ones still run.
                minimum_healthy_percent=100,
                maximum_percent=200,
                deployment_circuit_breaker=of.DeploymentCircuitBreakerProperty(enable=True, rollback=True),
            ),
            network_configuration=of.NetworkConfigurationProperty(
                awsvpc_configuration=of.AwsVpcConfigurationProperty(
                    subnets=list(network.tasks),
                    security_groups=[network.jobs.security_group_id],
                    assign_public_ip="ENABLED" if network.public_ip else "DISABLED",
                )
            ),
            propagate_tags="SERVICE",
        )
