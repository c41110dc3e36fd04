"""A local AWS as the parent sees it: started, asked, stopped.

    with LocalAws(Settings(folder)) as aws:
        deploy(aws, Path("cdk.out"), ["shiftlock-dev"])
        aws.fire("shiftlock-dev-billing-run", at=tick)

It listens on 127.0.0.1 only, keeps its state in memory, and never outlives the parent.
"""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from ops.local.aws import clients
from ops.local.aws.breaks import Breaks
from ops.local.aws.channel import Channel
from ops.local.aws.errors import LocalAwsError
from ops.local.aws.settings import ACCOUNT, Settings

PROJECT = Path(__file__).parents[3]
SECONDS_TO_START = 60.0
# The server process kills its own group; this is how long it may take over that beyond its tasks' grace.
SECONDS_TO_END = 10.0


class LocalAws:
    """One server process and the connection to it; use as a context manager, or `start` and `stop`."""

    def __init__(self, settings: Settings, port: int = 0) -> None:
        """Nothing starts yet; port 0 takes a free one."""
        self._settings = settings
        self._wanted_port = port
        self._calling = Lock()

    @property
    def endpoint(self) -> str:
        """The URL of every service."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def region(self) -> str:
        """The region that everything is deployed in."""
        return self._settings.region

    @property
    def account(self) -> str:
        """The account that everything is deployed in."""
        return ACCOUNT

    @property
    def pid(self) -> int:
        """The process id of the server, which leads the process group of all it starts."""
        return self._process.pid

    @property
    def breaks(self) -> Breaks:
        """What is ordered to fail at its next start."""
        return Breaks(self._settings.breaks)

    @property
    def environment(self) -> dict[str, str]:
        """What another process needs in its environment to have its AWS clients speak to this one."""
        return {
            **clients.CREDENTIALS,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
        }

    def client(self, service: str) -> Any:
        """A boto3 client of a service of this AWS."""
        return clients.client(service, self.endpoint, self.region)

    def start(self) -> None:
        """Starts the server process and waits until it answers; raises LocalAwsError when it does not."""
        try:
            listener = socket.create_server(("127.0.0.1", self._wanted_port))
        except OSError as error:
            raise LocalAwsError(
                f"port {self._wanted_port} of 127.0.0.1 is not free ({error}); choose another"
            ) from error
        ours, theirs = socket.socketpair()
        self._port = listener.getsockname()[1]
        for folder in (self._settings.logs, self._settings.scratch):
            folder.mkdir(parents=True, exist_ok=True)
        self.breaks.open()
        # Our copies of their ends close here: were they open, a dead server would look like a slow one.
        with listener, theirs, (self._settings.logs / "aws.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ops.local.aws.launcher", str(listener.fileno()), str(theirs.fileno())],
                cwd=PROJECT,
                env=self._server_environment(),
                pass_fds=(listener.fileno(), theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._channel = Channel(ours)
        try:
            self._channel.send(self._settings.message())
            self._wait_until_it_answers()
        except OSError as error:
            self.stop()
            raise LocalAwsError(
                f"the local AWS did not start ({error}); see {self._settings.logs / 'aws.log'}"
            ) from error

    def stop(self) -> None:
        """Stops the server and everything it started; tasks get SIGTERM and the settings' grace. Safe to repeat."""
        self._channel.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(self._settings.grace + SECONDS_TO_END)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._settings.scratch, ignore_errors=True)
        self.breaks.close()

    def fire(self, name: str, at: datetime) -> Sequence[str]:
        """Fires a rule or schedule now as of an aware time, through its real targets; answers what started, as ARNs.

        Raises LocalAwsError when there is none of that name, it is disabled, or a target does not start.
        """
        if at.utcoffset() is None:
            raise LocalAwsError(f"{at} has no zone; give the time to fire {name} as an aware datetime")
        return list(self._call("fire", name=name, at=at.isoformat()))

    def fire_due(self, now: datetime) -> Sequence[str]:
        """Fires the schedules that have become due since the call before; answers what started, as ARNs.

        The first call only says what time it is. Not for a server that rings by itself.
        """
        return list(self._call("fire_due", at=now.isoformat()))

    def settle(self, seconds: float = 30.0, *, leaving: int = 0) -> None:
        """Waits until no asynchronous call, delivery, batch or task is under way any more, whatever had begun it, but
        for the tasks of services.

        leaving: how many may go on, such as a task that is frozen. Raises LocalAwsError when more still are after so
        many seconds.
        """
        if still := self._call("settle", seconds=seconds, leaving=leaving):
            raise LocalAwsError(
                f"{still} calls, deliveries or tasks are still under way after {seconds:.0f} s; "
                f"see the logs in {self._settings.logs}"
            )

    def use_images(self, folders: Mapping[str, Path]) -> None:
        """Runs tasks of an image, known by its tag, from a folder."""
        self._call("use_images", folders={tag: str(folder.resolve()) for tag, folder in folders.items()})

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _call(self, call: str, **arguments: object) -> Any:
        with self._calling:
            try:
                self._channel.send({"call": call, **arguments})
                answer = self._channel.receive()
            except OSError:
                answer = None
        if answer is None:
            raise LocalAwsError(f"the local AWS is gone; see {self._settings.logs / 'aws.log'}")
        if "error" in answer:
            raise LocalAwsError(answer["error"])
        return answer["value"]

    def _wait_until_it_answers(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS_TO_START)
        connection.request("GET", "/_ministack/health")
        connection.getresponse().read()
        connection.close()

    def _server_environment(self) -> dict[str, str]:
        """All that the server, and so every function, gets: nothing of the parent's own environment but these."""
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
        return {
            "PATH": path,
            "HOME": os.environ.get("HOME", str(self._settings.folder)),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "TMPDIR": str(self._settings.scratch),
            **self._settings.injected,
            **clients.CREDENTIALS,
            "AWS_ENDPOINT_URL": self.endpoint,
            "GATEWAY_PORT": str(self._port),
            "MINISTACK_REGION": self.region,
            "MINISTACK_HOST": "127.0.0.1",
            "STATE_DIR": str(self._settings.scratch / "state"),
            "LOG_LEVEL": "WARNING",
            "LAMBDA_EXECUTOR": "local",
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            # Tasks, functions and databases are processes here even where a Docker daemon runs.
            "DOCKER_HOST": "unix:///nonexistent",
        }
