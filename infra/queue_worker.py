"""Work too long for Lambda: an ECS service whose tasks take messages of a job's queue one at a time."""

from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.placement import Placement
from handlers.declaration.queue import Queue
from infra.fargate_target import FargateTarget
from infra.shared import Shared
from infra.task_definition import task_definition
from infra.worker_scaling import scale

ENTRY = ("python", "-m", "handlers.runtime.worker_entry")


class QueueWorker(Construct):
    """The workers of a job: as many as its messages ask for, `concurrency` at most, none when there are none.

    The tasks have the role of the job: they run the same code, on the same data.
    """

    def __init__(
        self,
        scope: Construct,
        job: Job,
        queue: Queue,
        placement: Placement,
        target: FargateTarget,
        group: logs.ILogGroup,
        shared: Shared,
    ) -> None:
        super().__init__(scope, "Worker")
        # No job's family can be called that: names of jobs have no underscore.
        name = f"{shared.name_of(job.name)}_worker"
        task = task_definition(
            self,
            family=name,
            image=shared.image,
            command=[*ENTRY, job.name],
            cpu=target.cpu,
            memory=placement.memory,
            disk=placement.disk,
            variables=shared.work_variables,
            group=group,
            role=target.role,
            execution_role=shared.execution_role,
        )
        of = ecs.CfnService
        service = of(
            self,
            "Service",
            service_name=name,
            cluster=shared.cluster_arn,
            task_definition=task.ref,
            launch_type="FARGATE",
            # No desired_count: any number would be set again by each deploy, and end workers at work. ECS starts a new
            # service with one, which shows that the image works; with no message it is gone within minutes.
            deployment_configuration=of.DeploymentConfigurationProperty(
                # Old workers go before new ones come: never are there more than `concurrency`, and messages wait.
                minimum_healthy_percent=0,
                maximum_percent=100,
                deployment_circuit_breaker=of.DeploymentCircuitBreakerProperty(enable=True, rollback=True),
            ),
            network_configuration=of.NetworkConfigurationProperty(
                awsvpc_configuration=of.AwsVpcConfigurationProperty(
                    subnets=list(target.task.subnets),
                    security_groups=[target.task.security_group],
                    assign_public_ip="ENABLED" if target.task.public_ip else "DISABLED",
                )
            ),
            propagate_tags="SERVICE",
        )
        scale(self, job, queue, service, shared.environment)
