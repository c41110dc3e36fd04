"""A job that runs on Fargate: one task definition of its own, all from the same image."""

import json

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from handlers.declaration.job import Job
from handlers.declaration.placement import Placement
from infra.execution_role import tasks_principal
from infra.grants import acknowledge_folders, file_grants, queue_grants
from infra.shared import Shared
from infra.target import TaskStart
from infra.task_definition import CONTAINER, task_definition

ENTRY = ("python", "-m", "handlers.runtime.task_entry")


class FargateTarget(Construct):
    """The task definition of a job. Triggers start its latest revision: a deploy never leaves them an old one."""

    def __init__(self, scope: Construct, job: Job, placement: Placement, group: logs.ILogGroup, shared: Shared) -> None:
        super().__init__(scope, "Fargate")
        if placement.cpu is None:
            raise ValueError(f"{job.name}: a placement on Fargate has cpu units, this one has none")
        self._shared = shared
        family = shared.name_of(job.name)
        self._family_arn = Stack.of(self).format_arn(
            service="ecs", resource="task-definition", resource_name=family, arn_format=ArnFormat.SLASH_RESOURCE_NAME
        )
        self.cpu: int = placement.cpu
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=tasks_principal(self),
            description=f"What {family} may do",
            inline_policies={
                "job": iam.PolicyDocument(
                    statements=[
                        shared.database.connect_statement(),
                        *file_grants((job,), shared.files),
                        *queue_grants(self, job, shared.catalogue, shared.environment),
                    ]
                )
            },
        )
        acknowledge_folders(self.role, (job,), shared.files)
        self.prerequisite = task_definition(
            self,
            family=family,
            image=shared.image,
            command=[*ENTRY, job.name],
            cpu=self.cpu,
            memory=placement.memory,
            disk=placement.disk,
            variables=shared.work_variables,
            group=group,
            role=self.role,
            execution_role=shared.execution_role,
        )

    @property
    def arn(self) -> str:
        """ARN of the cluster: what a trigger names when it runs a task."""
        return self._shared.cluster_arn

    @property
    def task(self) -> TaskStart:
        """The family without a revision, and the network it runs in."""
        network = self._shared.network
        return TaskStart(
            self._family_arn,
            self.role.role_arn,
            network.tasks,
            network.jobs.security_group_id,
            network.public_ip,
        )

    def message(self, trigger: str, time: str) -> str:
        """Overrides of the container's environment, with the names that RunTask expects."""
        variables = (
            f'{{"name": "SHIFTLOCK_TRIGGER", "value": {json.dumps(trigger)}}}',
            f'{{"name": "SHIFTLOCK_EVENT_TIME", "value": {time}}}',
        )
        return f'{{"containerOverrides": [{{"name": "{CONTAINER}", "environment": [{", ".join(variables)}]}}]}}'

    def start_statements(self) -> list[iam.PolicyStatement]:
        """Leave to run this family in our cluster, and to hand the task its two roles."""
        return [
            iam.PolicyStatement(
                sid="RunTask",
                actions=["ecs:RunTask"],
                # Asked for without a revision, but checked with or without one.
                resources=[self._family_arn, f"{self._family_arn}:*"],
                conditions={"ArnEquals": {"ecs:cluster": self.arn}},
            ),
            iam.PolicyStatement(
                sid="PassTaskRoles",
                actions=["iam:PassRole"],
                resources=[self.role.role_arn, self._shared.execution_role.role_arn],
                conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            ),
        ]
