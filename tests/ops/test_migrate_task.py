"""Running the migration task: what ECS may answer, and the users that a new database gets first."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from handlers.runtime.migrate_entry import EXIT_NOT_LET_IN
from ops.migrate_task import MigrationFailed, MigrationTask, run_migrations

MIGRATE, USERS = "shiftlock-prod_migrate", "shiftlock-prod_users"
OUTPUTS = {
    "Cluster": "shiftlock-prod-migrate",
    "Family": MIGRATE,
    "Subnets": "subnet-1,subnet-2",
    "SecurityGroup": "sg-1",
    "PublicIp": "DISABLED",
    "LogGroup": "/shiftlock/prod/_migrate",
}
OWN = MigrationTask.from_outputs({**OUTPUTS, "UsersFamily": USERS})
GIVEN = MigrationTask.from_outputs(OUTPUTS)
ARN = "arn:aws:ecs:eu-west-1:111122223333:task/shiftlock-prod-migrate/0a1b"


class Ecs:
    """ECS as a script: the tasks that it is to start, in this order, and how each ends."""

    def __init__(self) -> None:
        self.client: Any = boto3.client("ecs", "eu-west-1")
        self.script = Stubber(self.client)

    def starts(self, family: str) -> None:
        network = {"subnets": ["subnet-1", "subnet-2"], "securityGroups": ["sg-1"], "assignPublicIp": "DISABLED"}
        self.script.add_response(
            "run_task",
            {"tasks": [{"taskArn": ARN}], "failures": []},
            {
                "cluster": "shiftlock-prod-migrate",
                "taskDefinition": family,
                "launchType": "FARGATE",
                "networkConfiguration": {"awsvpcConfiguration": network},
            },
        )

    def is_seen(self, status: str, exit_code: int | None = None) -> None:
        container = {} if exit_code is None else {"exitCode": exit_code}
        task = {"taskArn": ARN, "lastStatus": status, "stoppedReason": "the reason", "containers": [container]}
        looked = {"cluster": "shiftlock-prod-migrate", "tasks": [ARN]}
        self.script.add_response("describe_tasks", {"tasks": [task]}, looked)

    def runs(self, family: str, exit_code: int | None) -> None:
        self.starts(family)
        self.is_seen("RUNNING")
        self.is_seen("STOPPED", exit_code)


@pytest.fixture
def ecs() -> Iterator[Ecs]:
    """A script that must be played to its end."""
    made = Ecs()
    with made.script:
        yield made
        made.script.assert_no_pending_responses()


def migrate(ecs: Ecs, task: MigrationTask = OWN) -> None:
    run_migrations(ecs.client, task, between_looks=0)


def test_a_database_that_knows_its_users_takes_one_task(ecs: Ecs) -> None:
    ecs.runs(MIGRATE, 0)
    migrate(ecs)


def test_a_new_database_gets_its_users_and_is_then_migrated(ecs: Ecs) -> None:
    ecs.runs(MIGRATE, EXIT_NOT_LET_IN)
    ecs.runs(USERS, 0)
    ecs.runs(MIGRATE, 0)
    migrate(ecs)


def test_users_are_made_once_and_a_migration_that_is_still_not_let_in_has_failed(ecs: Ecs) -> None:
    ecs.runs(MIGRATE, EXIT_NOT_LET_IN)
    ecs.runs(USERS, 0)
    ecs.runs(MIGRATE, EXIT_NOT_LET_IN)
    with pytest.raises(MigrationFailed, match=f"{MIGRATE} exited with 77 .*see log group /shiftlock/prod/_migrate"):
        migrate(ecs)


def test_users_that_cannot_be_made_end_it(ecs: Ecs) -> None:
    ecs.runs(MIGRATE, EXIT_NOT_LET_IN)
    ecs.runs(USERS, 69)
    with pytest.raises(MigrationFailed, match=f"{USERS} exited with 69"):
        migrate(ecs)


def test_the_users_of_a_given_database_are_left_to_whoever_gave_it(ecs: Ecs) -> None:
    ecs.runs(MIGRATE, EXIT_NOT_LET_IN)
    with pytest.raises(MigrationFailed, match=r"exited with 77 .*; its users are made by hand: see docs/deploy\.md"):
        migrate(ecs, GIVEN)


@pytest.mark.parametrize(("exit_code", "ended"), [(1, "exited with 1"), (70, "exited with 70"), (None, "never ran")])
def test_any_other_end_has_failed_and_makes_no_users(ecs: Ecs, exit_code: int | None, ended: str) -> None:
    ecs.runs(MIGRATE, exit_code)
    with pytest.raises(MigrationFailed, match=rf"{MIGRATE} {ended} \(the reason\)"):
        migrate(ecs)


def test_an_answer_that_carries_failures_has_started_nothing(ecs: Ecs) -> None:
    ecs.script.add_response("run_task", {"tasks": [], "failures": [{"reason": "Capacity is unavailable at this time"}]})
    with pytest.raises(MigrationFailed, match=f"did not start {MIGRATE}: Capacity is unavailable at this time; run it"):
        migrate(ecs)
