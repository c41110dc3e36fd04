"""A Fargate task definition as all of ours are: ARM, one container, nothing to write to but /tmp."""

from collections.abc import Mapping, Sequence

from aws_cdk import Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.acknowledged import acknowledge

CONTAINER = "job"
TMP = "/tmp"  # noqa: S108 - a folder of the container, which is the job's alone
# The most that Fargate allows ("Task definition parameters", stopTimeout); a job stops within 110 s.
STOP_TIMEOUT = 120
# GiB that come with each task; asking for as much is refused.
DISK_INCLUDED = 20


def task_definition(
    scope: Construct,
    *,
    family: str,
    image: str,
    command: Sequence[str],
    cpu: int,
    memory: int,
    disk: int,
    variables: Mapping[str, str],
    group: logs.ILogGroup,
    role: iam.IRole,
    execution_role: iam.IRole,
) -> ecs.CfnTaskDefinition:
    """A task that runs `command` in `image`. cpu in units of 1/1024, memory and disk in MB."""
    gib = -(-disk // 1024)
    definition = ecs.CfnTaskDefinition
    about = {"AWS_REGION": Stack.of(scope).region, "SHIFTLOCK_LOG_GROUP": group.log_group_name}
    container = definition.ContainerDefinitionProperty(
        name=CONTAINER,
        image=image,
        essential=True,
        command=[*command],
        environment=[
            definition.KeyValuePairProperty(name=name, value=value) for name, value in {**variables, **about}.items()
        ],
        stop_timeout=STOP_TIMEOUT,
        readonly_root_filesystem=True,
        mount_points=[definition.MountPointProperty(source_volume="tmp", container_path=TMP, read_only=False)],
        # Reaps what a job leaves behind, and passes SIGTERM on.
        linux_parameters=definition.LinuxParametersProperty(init_process_enabled=True),
        log_configuration=definition.LogConfigurationProperty(
            log_driver="awslogs",
            options={
                "awslogs-group": group.log_group_name,
                "awslogs-region": Stack.of(scope).region,
                "awslogs-stream-prefix": CONTAINER,
                # Metrics are lines of the log: better a job that waits than metrics that are dropped.
                "mode": "blocking",
            },
        ),
    )
    task = ecs.CfnTaskDefinition(
        scope,
        "Task",
        family=family,
        requires_compatibilities=["FARGATE"],
        network_mode="awsvpc",
        runtime_platform=definition.RuntimePlatformProperty(cpu_architecture="ARM64", operating_system_family="LINUX"),
        cpu=str(cpu),
        memory=str(memory),
        ephemeral_storage=definition.EphemeralStorageProperty(size_in_gib=gib) if gib > DISK_INCLUDED else None,
        execution_role_arn=execution_role.role_arn,
        task_role_arn=role.role_arn,
        volumes=[definition.VolumeProperty(name="tmp")],
        container_definitions=[container],
    )
    acknowledge(
        task,
        "ECS2",
        "The variables name environment and database, and none is a secret: a login is a token signed by IAM.",
    )
    return task
