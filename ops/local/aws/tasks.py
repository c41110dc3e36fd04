"""RunTask and StopTask: a task is its container's command, run as a local process from the image's folder.

Without Docker ministack only records a task. Here it starts, its output goes to its log group line by line, and it
ends with its own exit code. One container a task.
"""

import json
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ops.local.aws import task_state
from ops.local.aws.container import Container
from ops.local.aws.internals import ecs, json_response, request_scope
from ops.local.aws.settings import ACCOUNT
from ops.local.aws.task_launch import CannotStart, Launch, Launches
from ops.local.aws.task_state import Task
from ops.local.aws.under_way import UnderWay

# Amazon ECS API Reference, RunTask, "Errors".
CONFLICT = {
    "__type": "ConflictException",
    "message": "The clientToken was used before, with other parameters.",
}
# Amazon ECS Developer Guide, "Amazon ECS stopped tasks error messages".
OUT_OF_MEMORY = "OutOfMemoryError: Container killed due to memory usage"
KILLED = 137
INACTIVE = {"__type": "ClientException", "message": "TaskDefinition is inactive"}
NOT_FOUND = {"__type": "InvalidParameterException", "message": "The referenced task was not found."}


@dataclass(frozen=True, slots=True)
class _Live:
    container: Container
    launch: Launch


@dataclass(frozen=True, slots=True)
class _Answered:
    """What a client token was given for, and what came of it."""

    asked: Mapping[str, Any]
    tasks: tuple[Task, ...]


class Tasks:
    """The tasks of one local AWS."""

    def __init__(self, launches: Launches, under_way: UnderWay) -> None:
        self._launches = launches
        self._under_way = under_way
        self._region = launches.region
        self._live: dict[str, _Live] = {}
        self._answers: dict[str, _Answered] = {}
        self._changing = threading.Lock()
        self._closing = False
        self._record = ecs._run_task

    def install(self) -> None:
        """Takes RunTask and StopTask over from ministack, whose ids of tasks have dashes that those of ECS have not."""
        ecs.new_uuid = lambda: uuid.uuid4().hex
        ecs._run_task = ecs._ACTION_MAP["RunTask"] = self.run
        ecs._stop_task = ecs._ACTION_MAP["StopTask"] = self.stop

    def run(self, data: Mapping[str, Any]) -> Any:
        """The RunTask call. A client token seen before is answered with the tasks of then, and starts nothing."""
        token = data.get("clientToken")
        with self._changing:
            if token and (before := self._answers.get(token)):
                if before.asked != data:
                    arns = [task["taskArn"] for task in before.tasks]
                    return json_response({**CONFLICT, "resourceIds": arns}, 400)
                return json_response({"tasks": ecs._sanitize(list(before.tasks)), "failures": []})
            definition = ecs._task_defs.get(ecs._resolve_td_key(data["taskDefinition"]))
            if definition and definition["status"] == "INACTIVE":
                return json_response(INACTIVE, 400)
            answer = self._record(data)
            if answer[0] >= 400:
                return answer
            tasks = [ecs._tasks[task["taskArn"]] for task in json.loads(answer[2])["tasks"]]
            for task in tasks:
                task_state.placed(task)
            answer = json_response({"tasks": ecs._sanitize(tasks), "failures": []})
            if token:
                self._answers[token] = _Answered(data, tuple(tasks))
        for task in tasks:
            # A service's task goes on for as long as the service wants it: nobody waits for its end.
            counted = UnderWay() if task["group"].startswith("service:") else self._under_way
            counted.begin()
            threading.Thread(target=self._live_through, args=(task, definition, counted), daemon=True).start()
        return answer

    def stop(self, data: Mapping[str, Any]) -> Any:
        """The StopTask call: SIGTERM now, SIGKILL after the container's stop timeout, which a second call leaves be."""
        cluster = ecs._resolve_cluster_name(data.get("cluster", "default"))
        task = ecs._resolve_task(data.get("task", ""), cluster) if cluster else None
        if task is None:
            return json_response(NOT_FOUND, 400)
        with self._changing:
            first = task["desiredStatus"] != "STOPPED"
            if first:
                task_state.stopping(task, self._region, data.get("reason", "Task stopped by user"))
            live = self._live.get(task["taskArn"])
        if first and live:
            live.container.stop(live.launch.stop_timeout)
        return json_response({"task": ecs._sanitize(task)})

    def stop_all(self, grace: float) -> None:
        """Sends SIGTERM to every task and waits for them, at most `grace` seconds; none starts any more."""
        with self._changing:
            self._closing = True
            running = [live.container for live in self._live.values()]
        for container in running:
            container.stop(grace)
        for container in running:
            container.wait()

    def _live_through(self, task: Task, definition: Mapping[str, Any], counted: UnderWay) -> None:
        with counted.until_done(), request_scope(ACCOUNT, self._region):
            try:
                launch = self._launches.launch(task, definition)
                container = self._start(task, launch)
            except (CannotStart, OSError) as error:
                task_state.stopped(task, self._region, "TaskFailedToStart", str(error), None)
                return
            code = container.wait()
            launch.forget()
            with self._changing:
                del self._live[task["taskArn"]]
                reason = "Essential container in task exited"
                why = OUT_OF_MEMORY if code == KILLED and launch.broken == "oom" else None
                task_state.stopped(task, self._region, "EssentialContainerExited", reason, code, why)

    def _start(self, task: Task, launch: Launch) -> Container:
        with self._changing:
            try:
                if self._closing or task["desiredStatus"] == "STOPPED":
                    raise CannotStart("the task was stopped before its container started")
                container = Container(
                    launch.command, folder=launch.folder, environment=launch.environment, line=launch.line
                )
            except (CannotStart, OSError):
                launch.forget()
                raise
            self._live[task["taskArn"]] = _Live(container, launch)
            task_state.running(task, self._region)
        return container
