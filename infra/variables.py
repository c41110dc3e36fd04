"""The environment variables of everything we run; `handlers.runtime.settings` reads them."""

from constructs import Construct

from handlers.declaration.signals import NAMESPACE, SERVICE_NAME
from infra.database import Database
from infra.environment import Environment
from infra.files import Files
from infra.job_queue import queues_url

LEASE_SECONDS = 30


def variables(environment: Environment, database: Database) -> dict[str, str]:
    """Variables of jobs and migrations alike; none is a secret."""
    return {
        "SHIFTLOCK_ENVIRONMENT": environment.name,
        "SHIFTLOCK_DATABASE_HOST": database.host,
        "SHIFTLOCK_DATABASE_PORT": database.port,
        "SHIFTLOCK_DATABASE_NAME": database.name,
        "SHIFTLOCK_DATABASE_USER": database.user,
        "SHIFTLOCK_LEASE_SECONDS": str(LEASE_SECONDS),
        **power_tools(),
    }


def work(scope: Construct, environment: Environment, files: Files) -> dict[str, str]:
    """What jobs have beside them: where files and queues are, and the environment's own settings.

    With a clock there are no queues.
    """
    queues = {} if environment.scheduler == "clock" else {"SHIFTLOCK_QUEUES": queues_url(scope, environment)}
    return {**dict(environment.settings), "SHIFTLOCK_FILES": files.name, **queues}


def power_tools() -> dict[str, str]:
    """Those of logs and metrics, which Powertools reads."""
    return {
        "POWERTOOLS_SERVICE_NAME": SERVICE_NAME,
        "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
        "POWERTOOLS_LOG_LEVEL": "INFO",
    }
