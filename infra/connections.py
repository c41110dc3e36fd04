"""How many connections to PostgreSQL an environment may want at once, and how many its database has."""

from collections.abc import Iterable, Mapping

from handlers.declaration.job import Job
from infra.environment import Environment
from infra.surroundings import OwnDatabase

# The guard's session, and the job's own.
OF_A_RUN = 2
# Watchdog and recorder; or the clock itself.
OF_THE_PLATFORM = 2
# GiB by the size of an instance class; memory-optimised ones have twice that ("Hardware specifications for DB instance
# classes", Amazon RDS user guide).
GIB = {"micro": 1, "small": 2, "medium": 4, "large": 8, "xlarge": 16, "2xlarge": 32, "4xlarge": 64}
# "Quotas and constraints for Amazon RDS", max_connections of PostgreSQL; of the memory, what RDS itself leaves over.
BYTES_OF_ONE, MOST, LEFT_OVER = 9_531_392, 5000, 0.75
# Of superusers and of RDS ("superuser_reserved_connections", "rds.rds_superuser_reserved_connections").
RESERVED = 5


def wanted(jobs: Iterable[Job], environment: Environment) -> Mapping[str, int]:
    """Connections by what wants them, most first: a job by its name, or `clocks`, and `platform`."""
    if environment.scheduler == "clock":
        found = {"clocks": environment.clocks * environment.clock_children * OF_A_RUN}
    else:
        # A job that may overlap itself without a queue has no bound: it is counted once.
        found = {job.name: OF_A_RUN * (1 if job.queue is None else job.queue.concurrency) for job in jobs}
    return dict(sorted({**found, "platform": OF_THE_PLATFORM}.items(), key=lambda each: (-each[1], each[0])))


def available(environment: Environment) -> int | None:
    """About how many the database has; None where its size is not known."""
    if not isinstance(environment.database, OwnDatabase):
        return None
    _, family, size = environment.database.instance.split(".", 2)
    if size not in GIB or family[0] not in "tmr":
        return None
    memory = GIB[size] * 2**30 * (2 if family[0] == "r" else 1) * LEFT_OVER
    return min(MOST, int(memory // BYTES_OF_ONE)) - RESERVED
