"""The jobs of one environment and what they share. Nothing in it holds state: it can be deleted and deployed again."""

from aws_cdk import ArnFormat, AssetHashType, Stack
from aws_cdk import Environment as Place
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from infra.bundle import Bundle
from infra.clock_service import ClockService
from infra.cluster import cluster
from infra.data_stack import DataStack
from infra.dead_letters import DeadLetters
from infra.declared_job import DeclaredJob
from infra.dispatcher import Dispatcher
from infra.environment import Environment
from infra.execution_role import execution_role
from infra.notifier import Notifier
from infra.recorder import Recorder
from infra.shared import Shared
from infra.variables import variables, work
from infra.watchdog import Watchdog


class JobsStack(Stack):
    """Every job of the table, in one environment."""

    def __init__(
        self, scope: Construct, environment: Environment, catalogue: Catalogue, data: DataStack, bundle: Bundle
    ) -> None:
        super().__init__(
            scope,
            environment.jobs_stack,
            env=Place(account=environment.account, region=environment.region),
            description=f"Shiftlock {environment.name}: {len(catalogue)} jobs",
        )
        # Its queues are known here by their names alone.
        self.add_stack_dependency(data)
        image = ecr_assets.DockerImageAsset(
            self, "Image", directory=str(bundle.image), platform=ecr_assets.Platform.LINUX_ARM64
        )
        where = cluster(self, environment.prefix)
        if environment.scheduler == "clock":
            ClockService(self, environment, catalogue, data, image, where)
        else:
            shared = self._shared(environment, catalogue, data, bundle, image, where)
            recorder = Recorder(self, shared, Notifier(self, shared).destination)
            jobs = [DeclaredJob(self, job, shared, recorder.destination) for job in catalogue]
            dispatcher = Dispatcher(self, shared, [job.target for job in jobs], recorder.destination)
            Watchdog(self, shared, dispatcher.destination)

    def _shared(
        self,
        environment: Environment,
        catalogue: Catalogue,
        data: DataStack,
        bundle: Bundle,
        image: ecr_assets.DockerImageAsset,
        where: ecs.CfnCluster,
    ) -> Shared:
        """What the jobs share that rules, schedules and messages start."""
        code = s3_assets.Asset(
            self, "Code", path=str(bundle.folder), asset_hash=bundle.key, asset_hash_type=AssetHashType.CUSTOM
        )
        log_groups = self.format_arn(
            service="logs",
            resource="log-group",
            resource_name=environment.log_group("*"),
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        told = variables(environment, data.database)
        return Shared(
            environment=environment,
            catalogue=catalogue,
            network=data.network,
            database=data.database,
            files=data.files,
            variables=told,
            work_variables={**told, **work(self, environment, data.files)},
            code=code,
            image=image.image_uri,
            cluster_arn=where.attr_arn,
            execution_role=execution_role(self, image.repository.repository_arn, log_groups),
            schedule_group=scheduler.CfnScheduleGroup(self, "Schedules", name=environment.prefix).ref,
            dead_letters=DeadLetters(self, environment),
        )
