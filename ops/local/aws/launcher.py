"""The server process: ministack with our additions, ended with all it started when the parent goes away.

Run as `python -m ops.local.aws.launcher LISTENER CONTROL`, two inherited sockets: one that already listens, and the
lifeline to the parent (see channel.py). It must lead a process group of its own.
"""

import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from hypercorn.asyncio import serve
from hypercorn.config import Config

from ops.local.aws import alarms, cloudformation_types, database, internals, lambdas, schedule_type
from ops.local.aws.breaks import Breaks
from ops.local.aws.channel import Channel
from ops.local.aws.delivery import Courier, Undeliverable
from ops.local.aws.errors import LocalAwsError
from ops.local.aws.invocations import Invocations
from ops.local.aws.mappings import Mappings
from ops.local.aws.output import LogFolder
from ops.local.aws.queue_metrics import QueueMetrics
from ops.local.aws.scaling import Scaling
from ops.local.aws.schedules import Schedules
from ops.local.aws.settings import Settings
from ops.local.aws.targets import Targets
from ops.local.aws.task_launch import Launches
from ops.local.aws.tasks import Tasks
from ops.local.aws.under_way import UnderWay

logger = logging.getLogger("shiftlock.local")


class Server:
    """The additions to ministack, wired together, and the calls the parent can make."""

    def __init__(self, endpoint: str, settings: Settings) -> None:
        self._settings = settings
        logs = LogFolder(settings.logs)
        courier = Courier(endpoint, settings.region)
        self._folders: dict[str, Path] = {}
        self._under_way = UnderWay()
        breaks = Breaks(settings.breaks)
        launches = Launches(endpoint, settings.region, settings.injected, logs, self._folders, breaks)
        self._tasks = Tasks(launches, self._under_way)
        targets = Targets(courier, settings.region, self._under_way)
        self._schedules = Schedules(targets, settings.region)
        cloudformation_types.install(settings.region)
        schedule_type.install()
        alarms.install()
        Scaling(endpoint, settings.region).install()
        QueueMetrics(endpoint, settings.region).install()
        if settings.database:
            database.install(*settings.database)
        Invocations(breaks).install()
        lambdas.install(courier, settings.region, logs, self._under_way)
        Mappings(endpoint, settings.region, self._under_way).install()
        self._tasks.install()
        targets.install()
        self._schedules.install(rings=settings.rings)

    def answer(self, call: Mapping[str, Any]) -> dict[str, object]:
        """The answer to one call of the parent: `value`, or `error` with what to tell the caller."""
        try:
            if call["call"] == "fire":
                return {"value": list(self._schedules.fire(call["name"], datetime.fromisoformat(call["at"])))}
            if call["call"] == "fire_due":
                return {"value": list(self._schedules.fire_due(datetime.fromisoformat(call["at"])))}
            if call["call"] == "settle":
                return {"value": self._under_way.wait(float(call["seconds"]), leaving=int(call["leaving"]))}
            if call["call"] == "use_images":
                self._folders.update({tag: Path(folder) for tag, folder in call["folders"].items()})
                return {"value": None}
            return {"error": f"no call {call['call']}"}
        except (LocalAwsError, Undeliverable) as error:
            return {"error": str(error)}
        except Exception as error:  # one call that breaks must not end all that runs
            logger.exception("the call %s failed", call)
            return {"error": f"{type(error).__name__}: {error}"}

    def end(self) -> NoReturn:
        """Ends the tasks, the functions and the temporary files, then this whole process group."""
        self._tasks.stop_all(self._settings.grace)
        internals.lambda_runtime.reset()
        shutil.rmtree(self._settings.scratch, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)
        raise SystemExit  # never reached: the signal is for this process too


def main() -> None:
    """Serves until the parent is gone."""
    listener, control = (int(number) for number in sys.argv[1:3])
    channel = Channel(socket.socket(fileno=control))
    settings = channel.receive()
    if settings is None:
        raise SystemExit("the parent is gone before it said anything")
    if changed := list(internals.breaches()):
        raise SystemExit("ministack is not the version this package was written for:\n  " + "\n  ".join(changed))
    with socket.socket(fileno=os.dup(listener)) as bound:
        port = bound.getsockname()[1]
    server = Server(f"http://127.0.0.1:{port}", Settings.from_message(settings))
    signal.signal(signal.SIGTERM, lambda *_: channel.end_of_input())
    threading.Thread(target=_converse, args=(channel, server), name="parent").start()
    try:
        asyncio.run(_serve(listener))
    finally:
        channel.end_of_input()


def _converse(channel: Channel, server: Server) -> None:
    try:
        while (call := channel.receive()) is not None:
            channel.send(server.answer(call))
    except OSError:
        logger.info("the parent is gone in the middle of a call")
    finally:
        server.end()


async def _serve(listener: int) -> None:
    from ministack.app import app  # type: ignore[import-untyped]  # after the additions, as it starts the sweeps

    config = Config()
    config.bind = [f"fd://{listener}"]
    config.loglevel = "WARNING"
    # The lifeline alone says when to end, so hypercorn gets a trigger that never fires and leaves signals alone.
    await serve(app, config, shutdown_trigger=asyncio.Event().wait)


if __name__ == "__main__":
    main()
