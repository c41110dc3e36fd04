"""The server process: it starts or says why, and leaves nothing running however its parent ends."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from ops.local.aws.assembly import zip_folder
from ops.local.aws.errors import LocalAwsError
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from tests.local.aws.listener import Listener

SAMPLES = Path(__file__).parent / "aws"
SECONDS = 20.0

# What a parent that is about to be killed does; it says so when all of it runs.
PARENT = """
import sys, pathlib
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from tests.local.test_aws_server import occupy
aws = LocalAws(Settings(pathlib.Path(sys.argv[1]), injected={"TEST_PORT": sys.argv[2]}, grace=0.2))
aws.start()
occupy(aws)
print(aws.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


def test_stopping_the_server_ends_its_functions_and_tasks(tmp_path: Path, listener: Listener) -> None:
    settings = Settings(tmp_path, injected={"TEST_PORT": str(listener.port)}, grace=0.2)
    with Watch() as watch:
        with LocalAws(settings) as aws:
            occupy(aws)
            watch.follow(aws.pid, *_occupants(listener))
        assert watch.all_ended()
    assert not settings.scratch.exists()


def test_a_stopping_server_lets_a_task_end_by_itself(tmp_path: Path, listener: Listener) -> None:
    with LocalAws(Settings(tmp_path, injected={"TEST_PORT": str(listener.port)})) as aws:
        _run_task(aws, "wait")
        listener.wait(lambda report: "pid" in report)
    assert listener.wait(lambda report: "signal" in report)["signal"] == signal.SIGTERM


def test_a_killed_parent_leaves_nothing_behind(tmp_path: Path, listener: Listener) -> None:
    with Watch() as watch, _parent(tmp_path, listener) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        watch.follow(server, *_occupants(listener))
        parent.kill()
        assert watch.all_ended()
    assert not tmp_path.joinpath("scratch").exists()


def test_a_server_asked_to_terminate_ends_all_it_started(tmp_path: Path, listener: Listener) -> None:
    aws = LocalAws(Settings(tmp_path, injected={"TEST_PORT": str(listener.port)}, grace=0.2))
    with Watch() as watch, aws:
        occupy(aws)
        watch.follow(aws.pid, *_occupants(listener))
        os.kill(aws.pid, signal.SIGTERM)
        assert watch.all_ended()
        with pytest.raises(LocalAwsError, match="the local AWS is gone"):
            aws.use_images({})


def test_a_taken_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(LocalAwsError, match=rf"port {port} of 127.0.0.1 is not free"):
            LocalAws(Settings(tmp_path), port).start()


def test_a_given_port_is_used(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with LocalAws(Settings(tmp_path), port) as aws:
        assert aws.endpoint == f"http://127.0.0.1:{port}"


def test_a_server_that_cannot_start_names_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.local.aws.server.PROJECT", tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(LocalAwsError, match=r"did not start .*aws\.log"):
        LocalAws(Settings(tmp_path)).start()


def occupy(aws: LocalAws) -> None:
    """Runs a function that hangs, and a task that ignores SIGTERM and has a child of its own."""
    aws.client("lambda").create_function(
        FunctionName="hanging",
        Runtime="python3.13",
        Role=f"arn:aws:iam::{aws.account}:role/any",
        Handler="package.entry.handler",
        Timeout=60,
        Environment={"Variables": {"NAME": "hanging"}},
        Code={"ZipFile": zip_folder(SAMPLES / "function")},
    )
    aws.client("lambda").invoke(FunctionName="hanging", InvocationType="Event", Payload='{"do": "hang"}')
    _run_task(aws, "ignore")


def _run_task(aws: LocalAws, do: str) -> None:
    aws.use_images({"tag": SAMPLES / "image"})
    container: Any = {
        "name": "job",
        "image": "image:tag",
        "command": ["python", "-m", "work"],
        "environment": [{"name": "DO", "value": do}],
    }
    ecs = aws.client("ecs")
    ecs.register_task_definition(family="task", containerDefinitions=[container])
    ecs.run_task(cluster="any", taskDefinition="task")


def _occupants(listener: Listener) -> list[int]:
    function = listener.wait(lambda report: report["from"] == "hanging")
    task = listener.wait(lambda report: report["from"] == "task")
    return [function["pid"], task["pid"], task["child"]]


def _parent(folder: Path, listener: Listener) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, folder, str(listener.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


class Watch:
    """Waits for processes that are not ours to end, by their pidfds."""

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self._descriptors: list[int] = []
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def follow(self, *pids: int) -> None:
        for pid in pids:
            descriptor = os.pidfd_open(pid)
            self._stack.callback(os.close, descriptor)
            self._descriptors.append(descriptor)

    def all_ended(self) -> bool:
        return all(select.select([descriptor], [], [], SECONDS)[0] for descriptor in self._descriptors)
