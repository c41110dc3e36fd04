"""What all jobs of an environment share, handed to each as one record."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as s3_assets

from handlers.declaration.catalogue import Catalogue
from infra.database import Database
from infra.dead_letters import DeadLetters
from infra.environment import Environment
from infra.files import Files
from infra.network import Network


@dataclass(frozen=True, slots=True)
class Shared:
    """Code, network, database, files and queues of an environment, as its jobs use them.

    variables: what whoever knows the ledger is told. work_variables: what those are told who work or send messages.
    """

    environment: Environment
    catalogue: Catalogue
    network: Network
    database: Database
    files: Files
    variables: Mapping[str, str]
    work_variables: Mapping[str, str]
    code: s3_assets.Asset
    image: str
    cluster_arn: str
    execution_role: iam.IRole
    schedule_group: str
    dead_letters: DeadLetters

    def name_of(self, job: str) -> str:
        """The name of a job's function, task family, rule or schedule."""
        return self.environment.name_of(job)
