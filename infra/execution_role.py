"""The role by which ECS starts tasks, and the principal that ECS tasks are."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.acknowledged import acknowledge_wildcard


def execution_role(scope: Construct, repository_arn: str, log_groups: str) -> iam.Role:
    """The role by which ECS fetches the one image and writes the logs of the tasks of a stack.

    log_groups: ARN pattern of their log groups.
    """
    role = iam.Role(
        scope,
        "ExecutionRole",
        assumed_by=tasks_principal(scope),
        description="What ECS may do to start a Shiftlock task",
        inline_policies={
            "start": iam.PolicyDocument(
                statements=[
                    iam.PolicyStatement(sid="LogInToEcr", actions=["ecr:GetAuthorizationToken"], resources=["*"]),
                    iam.PolicyStatement(
                        sid="PullImage",
                        actions=["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
                        resources=[repository_arn],
                    ),
                    iam.PolicyStatement(
                        sid="WriteTaskLogs",
                        actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                        resources=[log_groups],
                    ),
                ]
            )
        },
    )
    acknowledge_wildcard(
        role,
        "*",
        "ecr:GetAuthorizationToken knows no resource: it is a login to the registry, not to an image.",
    )
    acknowledge_wildcard(
        role,
        log_groups,
        "One role starts all tasks of a stack: it writes to the streams of their log groups, by prefix.",
    )
    return role


def tasks_principal(scope: Construct) -> iam.IPrincipal:
    """ECS tasks of this account alone ("Amazon ECS task IAM role", confused deputy)."""
    return iam.ServicePrincipal(
        "ecs-tasks.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}}
    )
