"""The environment variables of everything we run; `handlers.runtime.settings` reads them."""

from handlers.declaration.signals import NAMESPACE, SERVICE_NAME
from infra.database import Database
from infra.environment import Environment

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


def power_tools() -> dict[str, str]:
    """Those of logs and metrics, which Powertools reads."""
    return {
        "POWERTOOLS_SERVICE_NAME": SERVICE_NAME,
        "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
        "POWERTOOLS_LOG_LEVEL": "INFO",
    }
