"""The real stacks of dev in a local AWS, over a small platform: deployed once for each test process."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import psycopg
import pytest

from handlers.queues.publish import Publisher
from handlers.schedule import SCHEDULE
from infra.environments import ENVIRONMENTS, choose
from ops.local.aws.deploy import deploy
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from ops.local.platform.load import load
from ops.local.pos.server import pos
from ops.local.postgres import server
from ops.local.synth import synthesised
from ops.migrate_task import MigrationTask, run_migrations

RESTAURANTS = 50

# A run or an attempt that ends says so to whoever listens, so that a test need not look again and again.
ANNOUNCE = """
create function announce() returns trigger language plpgsql as $$
begin
    perform pg_notify('ended', new.job_name || ' ' || new.run_key || ' ' || new.status);
    return null;
end $$;
create trigger announce after update on shiftlock.job_runs for each row
when (old.status is distinct from new.status and new.status <> 'running') execute function announce();

create function announce_attempt() returns trigger language plpgsql as $$
begin
    perform pg_notify('attempts', new.run_id || ' ' || new.attempt || ' ' || coalesce(new.outcome, 'begun'));
    return null;
end $$;
create trigger announce after insert or update of outcome on shiftlock.job_attempts for each row
execute function announce_attempt();
"""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployed dev environment and a listening connection to its database."""

    aws: LocalAws
    url: str
    ledger: psycopg.Connection
    migration: MigrationTask
    logs: Path
    publisher: Publisher
    bucket: str

    def await_end(self, job: str, run_key: str, *, beyond: str | None = None) -> str:
        """The status that the run ends in; fails with the logs when nothing is heard within a minute.

        beyond: one that it passes through. To ask again for the next would miss what came with the first.
        """
        for notice in self.ledger.notifies(timeout=60):
            if notice.channel == "ended":
                heard_job, heard_key, status = notice.payload.split()
                if (heard_job, heard_key) == (job, run_key) and status != beyond:
                    return status
        raise AssertionError(f"{job} {run_key} did not end within a minute:\n{self.tail_of_logs()}")

    def await_attempt(self, outcome: str, *, attempt: int) -> int:
        """The run of which the attempt of this number has come to this outcome, or has `begun`; fails as above."""
        for notice in self.ledger.notifies(timeout=60):
            if notice.channel == "attempts":
                run, heard, came_to = notice.payload.split()
                if (int(heard), came_to) == (attempt, outcome):
                    return int(run)
        raise AssertionError(f"no attempt {attempt} was {outcome} within a minute:\n{self.tail_of_logs()}")

    def tail_of_logs(self) -> str:
        """The end of what everything has printed."""
        return "\n".join(f"{path.name}:\n{path.read_text()[-3000:]}" for path in self.logs.glob("*.log"))


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The environment, migrated by its own task and with four days of data."""
    folder = tmp_path_factory.mktemp("deployed")
    [dev] = choose(ENVIRONMENTS, "dev")
    synthesised("dev", folder / "cdk.out")
    with server(None, fast=True) as url, pos(RESTAURANTS) as pos_url:
        load(url, date(2026, 11, 28), days=4, restaurants=RESTAURANTS, orders_per_day=300, processes=1)
        injected = {"SHIFTLOCK_DATABASE_URL": url, "SHIFTLOCK_POS_URL": pos_url}
        settings = Settings(folder / "aws", injected=injected, grace=1.0, rings=False)
        with LocalAws(settings) as aws, psycopg.connect(url, autocommit=True) as ledger:
            outputs = deploy(aws, folder / "cdk.out", [dev.data_stack, dev.migrate_stack])
            migration = MigrationTask.from_outputs(outputs[dev.migrate_stack])
            run_migrations(aws.client("ecs"), migration, between_looks=0.05)
            ledger.execute(ANNOUNCE)
            ledger.execute("listen ended")
            ledger.execute("listen attempts")
            deploy(aws, folder / "cdk.out", [dev.jobs_stack, dev.alarms_stack])
            data = outputs[dev.data_stack]
            publisher = Publisher(data["QueuesOfJobs"], SCHEDULE, sqs=aws.client("sqs"))
            yield Deployed(aws, url, ledger, migration, settings.logs, publisher, data["FilesOfJobs"])


@pytest.fixture
def nothing_under_way(deployed: Deployed) -> Iterator[None]:
    """Each test leaves the local AWS at rest, so that the next one hears only of its own."""
    yield
    deployed.aws.settle()
    for _ in deployed.ledger.notifies(timeout=0):
        pass
