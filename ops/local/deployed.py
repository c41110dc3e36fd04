"""What `make run` deploys, and where it keeps its data."""

from infra.environments import ENVIRONMENTS, choose
from infra.packages import ROOT

FOLDER = ROOT / ".data"
ENVIRONMENT = choose(ENVIRONMENTS, "dev")[0]
# Held by the one that runs, in its folder of data.
LOCK = "run.lock"
# The local AWS's own folder in there.
AWS = "aws"
# Where the local AWS listens, as long as the one that runs holds the lock.
ENDPOINT = "aws-endpoint"
# What a service needs in its environment to publish there, as long as that runs.
SERVICE = "env"
