"""What outlives every deploy of the jobs: the network and the database."""

from aws_cdk import Environment as Place
from aws_cdk import Stack
from constructs import Construct

from infra.database import Database
from infra.environment import Environment
from infra.network import Network


class DataStack(Stack):
    """Network and database of one environment."""

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(
            scope,
            environment.data_stack,
            env=Place(account=environment.account, region=environment.region),
            description=f"Shiftlock {environment.name}: network and database",
            termination_protection=environment.protected,
        )
        self.network = Network(self, environment)
        self.database = Database(self, environment, self.network)
