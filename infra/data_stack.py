"""What outlives every deploy of the jobs: the network, the database, the bucket of files and the queues."""

from aws_cdk import CfnOutput, Stack
from aws_cdk import Environment as Place
from constructs import Construct

from handlers.declaration.catalogue import Catalogue
from infra.database import Database
from infra.environment import Environment
from infra.files import Files
from infra.job_queue import queues_url
from infra.network import Network
from infra.queues import Queues


class DataStack(Stack):
    """Network, database, files and queues of one environment.

    Its outputs are what a service needs that sends messages: SHIFTLOCK_QUEUES and SHIFTLOCK_FILES.
    """

    def __init__(self, scope: Construct, environment: Environment, catalogue: Catalogue) -> None:
        super().__init__(
            scope,
            environment.data_stack,
            env=Place(account=environment.account, region=environment.region),
            description=f"Shiftlock {environment.name}: network, database, files and queues",
            termination_protection=environment.protected,
        )
        self.network = Network(self, environment, catalogue)
        self.database = Database(self, environment, self.network)
        self.files = Files(self, environment)
        CfnOutput(self, "FilesOfJobs", value=self.files.bucket)
        if environment.scheduler != "clock":
            Queues(self, environment, catalogue)
            CfnOutput(self, "QueuesOfJobs", value=queues_url(self, environment))
