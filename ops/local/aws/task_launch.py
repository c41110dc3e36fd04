"""From a task and its definition to the command that is run: where, with which environment, and where it prints.

The environment is, later ones winning: what the machine needs, what the parent injects, what ECS sets, what the
definition declares, its secrets, and the overrides of this one task.
"""

import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.local.aws.breaks import Breaks, How
from ops.local.aws.clients import CREDENTIALS
from ops.local.aws.internals import ecs, ecs_metadata, request_scope
from ops.local.aws.output import LogFolder
from ops.local.aws.settings import ACCOUNT
from ops.local.aws.task_state import Task

# Amazon ECS Developer Guide, "Amazon ECS task definition parameters for Fargate": stopTimeout when none is given.
DEFAULT_STOP_TIMEOUT = 30.0
MACHINE = ("PATH", "HOME", "TMPDIR", "LANG")
NEVER_STARTED = "ResourceInitializationError: unable to pull secrets or registry auth: broken by `jobs break`"


class CannotStart(Exception):
    """A task's container cannot be started; the message becomes the task's stopped reason."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command ready to run; `stop_timeout` in seconds. `broken` is how somebody has ordered it to fail."""

    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    stop_timeout: float
    line: Callable[[str], None]
    metadata_token: str
    broken: How | None

    def forget(self) -> None:
        """Ends the task's metadata endpoint."""
        ecs_metadata.unregister_token(self.metadata_token)


@dataclass(frozen=True, slots=True)
class Launches:
    """Makes launches from tasks; `folders` has the folder of each image, by its tag."""

    endpoint: str
    region: str
    injected: Mapping[str, str]
    logs: LogFolder
    folders: dict[str, Path]
    breaks: Breaks

    def launch(self, task: Task, definition: Mapping[str, Any]) -> Launch:
        """The launch of a task. Raises CannotStart for what only a real container could run."""
        family = definition["family"]
        if len(definition["containerDefinitions"]) != 1:
            raise CannotStart(f"{family} has more than one container; the local AWS runs one")
        container = definition["containerDefinitions"][0]
        override = ecs._container_override_for(task["overrides"].get("containerOverrides", []), container["name"])
        command = (*container.get("entryPoint", ()), *(override.get("command") or container.get("command") or ()))
        if not command:
            raise CannotStart(f"{family} declares no command; the one inside an image is not read")
        broken = self.breaks.ordered(family)
        if broken == "never-start" and self.breaks.take(family):
            raise CannotStart(NEVER_STARTED)
        folder = self.folders.get(container["image"].rpartition(":")[2])
        if folder is None:
            raise CannotStart(f"CannotPullContainerError: no folder is known for image {container['image']}")
        try:
            secrets = ecs._resolve_container_secrets(container)
        except ecs._SecretResolutionError as error:
            raise CannotStart(f"ResourceInitializationError: {error}") from error
        token = _register_metadata(task, definition, container)
        hook = self.breaks.environment(family, broken, str(folder)) if broken else {}
        environment = {
            **{name: os.environ[name] for name in MACHINE if name in os.environ},
            **self.injected,
            **CREDENTIALS,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint,
            "ECS_CONTAINER_METADATA_URI_V4": f"{self.endpoint}/v4/{token}",
            "PYTHONPATH": str(folder),
            # An asset is named after the hash of its content, and an image is read-only: nothing is written into it.
            "PYTHONDONTWRITEBYTECODE": "1",
            # A line must arrive when it is printed, not when the task has ended.
            "PYTHONUNBUFFERED": "1",
            **_pairs(container),
            **secrets,
            **_pairs(override),
            **hook,
        }
        stop_timeout = float(container.get("stopTimeout") or DEFAULT_STOP_TIMEOUT)
        writer = self._writer(task, family, container)
        return Launch(command, folder, environment, stop_timeout, writer, token, broken)

    def _writer(self, task: Task, family: str, container: Mapping[str, Any]) -> Callable[[str], None]:
        task_id = task["taskArn"].rpartition("/")[2]
        stream = ecs._awslogs_config(container, task_id, task_id)
        with_stream = stream is not None and ecs._ensure_awslogs_stream(stream)

        def write(line: str) -> None:
            self.logs.append(family, line)
            if with_stream:
                with request_scope(ACCOUNT, self.region):
                    ecs._emit_awslogs_event(stream, line)

        return write


def _register_metadata(task: Task, definition: Mapping[str, Any], container: Mapping[str, Any]) -> str:
    """Opens the task's metadata endpoint; the last part of its address, which names task and container as on ECS.

    Source: Amazon ECS Developer Guide, "Amazon ECS task metadata endpoint version 4".
    """
    made_up = ecs._register_metadata(
        task["taskArn"],
        task["clusterArn"],
        definition,
        container,
        task["launchType"],
        {},
        host_mode=True,
        ministack_net_ip=None,
    )
    token = f"{task['taskArn'].rpartition('/')[2]}-{zlib.crc32(container['name'].encode()):010d}"
    for known in (ecs_metadata._TOKEN_TO_TASK, ecs_metadata._TOKEN_TO_CONTAINER):
        known[token] = known.pop(made_up)
    return token


def _pairs(container: Mapping[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in container.get("environment", ())}
