"""Run the migrations of a deployed environment as a task in its own network, and look at how it ended.

On a new database its users are made first, by the task that the stack has for it.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handlers.runtime.migrate_entry import EXIT_NOT_LET_IN

SECONDS_TO_FINISH = 900.0
# Whoever runs a task has to ask how it goes; ECS tells only EventBridge.
SECONDS_BETWEEN_LOOKS = 1.0


class MigrationFailed(Exception):
    """The migrations did not run to their end; the message says what ECS says of it, and where the log is."""


class NotLetIn(MigrationFailed):
    """The database does not know the user that migrates, or does not let it create the ledger."""


@dataclass(frozen=True, slots=True)
class MigrationTask:
    """What RunTask needs to know, as the migrate stack gives it out.

    users_family: of the task that makes the users of a new database; None for a given one, whose users are given too.
    """

    cluster: str
    family: str
    subnets: tuple[str, ...]
    security_group: str
    public_ip: str
    log_group: str
    users_family: str | None = None

    @classmethod
    def from_outputs(cls, outputs: Mapping[str, str]) -> "MigrationTask":
        """From the outputs of a deployed migrate stack."""
        return cls(
            cluster=outputs["Cluster"],
            family=outputs["Family"],
            subnets=tuple(outputs["Subnets"].split(",")),
            security_group=outputs["SecurityGroup"],
            public_ip=outputs["PublicIp"],
            log_group=outputs["LogGroup"],
            users_family=outputs.get("UsersFamily"),
        )


def run_migrations(ecs: Any, task: MigrationTask, *, between_looks: float = SECONDS_BETWEEN_LOOKS) -> None:
    """Migrate with the boto3 client `ecs`, and make the users first where the database lets nobody in yet.

    Raises MigrationFailed.
    """
    try:
        _run(ecs, task, task.family, between_looks)
    except NotLetIn as error:
        if task.users_family is None:
            raise MigrationFailed(f"{error}; its users are made by hand: see docs/deploy.md") from error
        _run(ecs, task, task.users_family, between_looks)
        _run(ecs, task, task.family, between_looks)


def _run(ecs: Any, task: MigrationTask, family: str, between_looks: float) -> None:
    """Start a task of the family and wait for its end. One without an exit code never ran, which is a failure however
    it is worded."""
    answer = ecs.run_task(
        cluster=task.cluster,
        taskDefinition=family,
        launchType="FARGATE",
        networkConfiguration={
            "awsvpcConfiguration": {
                "subnets": list(task.subnets),
                "securityGroups": [task.security_group],
                "assignPublicIp": task.public_ip,
            }
        },
    )
    # A 200 answer may carry failures instead of tasks (Amazon ECS API reference, RunTask).
    if not answer["tasks"]:
        reasons = "; ".join(str(failure.get("reason", failure)) for failure in answer.get("failures", ()))
        raise MigrationFailed(f"ECS did not start {family}: {reasons or 'no reason given'}; run it again")
    arn = answer["tasks"][0]["taskArn"]
    deadline = time.monotonic() + SECONDS_TO_FINISH
    while time.monotonic() < deadline:
        found = ecs.describe_tasks(cluster=task.cluster, tasks=[arn])["tasks"]
        if found and found[0]["lastStatus"] == "STOPPED":
            _look_at(found[0], task, family)
            return
        time.sleep(between_looks)  # a task tells nobody who waits that it has stopped
    raise MigrationFailed(f"{family} still runs after {SECONDS_TO_FINISH:.0f} s; see log group {task.log_group}")


def _look_at(stopped: Mapping[str, Any], task: MigrationTask, family: str) -> None:
    code = stopped["containers"][0].get("exitCode")
    if code != 0:
        ended = "never ran" if code is None else f"exited with {code}"
        reason = stopped.get("stoppedReason", "no reason given")
        failed = NotLetIn if code == EXIT_NOT_LET_IN else MigrationFailed
        raise failed(f"{family} {ended} ({reason}); see log group {task.log_group}")
