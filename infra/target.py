"""What a trigger needs to know of the thing it starts, whether that is a function or a task."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from aws_cdk import CfnResource
from aws_cdk import aws_iam as iam


@dataclass(frozen=True, slots=True)
class TaskStart:
    """How a Fargate task is started: the latest revision of a family, in these subnets.

    role_arn: the role that the task has.
    """

    family_arn: str
    role_arn: str
    subnets: Sequence[str]
    security_group: str
    public_ip: bool


class Target(Protocol):
    """Something a trigger can start."""

    @property
    def arn(self) -> str:
        """What the trigger calls: a function, or a cluster."""

    @property
    def prerequisite(self) -> CfnResource:
        """What must be there before the first start, and which no property of a trigger refers to."""

    @property
    def task(self) -> TaskStart | None:
        """How to start the task; None for a function."""

    def message(self, trigger: str, time: str) -> str:
        """The JSON to send. time: a placeholder, with the quotes around it if the trigger does not add them."""

    def start_statements(self) -> list[iam.PolicyStatement]:
        """What the role of a trigger must be allowed to do."""
