"""One command as a container: lines, signals, exit codes."""

import os
import sys
from pathlib import Path
from queue import SimpleQueue

import pytest

from ops.local.aws.container import Container

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"


def python(code: str, folder: Path) -> tuple[Container, SimpleQueue[str]]:
    lines: SimpleQueue[str] = SimpleQueue()
    container = Container([sys.executable, "-c", code], folder=folder, environment=os.environ, line=lines.put)
    return container, lines


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [("pass", 0), ("raise SystemExit(69)", 69), ("import os; os.abort()", 134), ("import os; os.kill(0, 0)", 0)],
)
def test_the_exit_code_is_the_one_ecs_reports(tmp_path: Path, code: str, exit_code: int) -> None:
    container, _ = python(code, tmp_path)
    assert container.wait() == exit_code


def test_a_line_arrives_before_the_command_ends_and_errors_are_lines_too(tmp_path: Path) -> None:
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr, flush=True); sys.stdin.read()"
    container, lines = python(code + "; import signal; signal.pause()", tmp_path)
    assert [lines.get(timeout=10), lines.get(timeout=10)] == ["out", "err"]
    container.stop(10)
    assert container.wait() == 143


def test_what_ignores_sigterm_is_killed_when_its_time_is_up(tmp_path: Path) -> None:
    container, lines = python(STUBBORN, tmp_path)
    assert lines.get(timeout=10) == "ready"
    container.stop(0.1)
    assert container.wait() == 137


def test_a_second_stop_can_shorten_the_time_of_the_first(tmp_path: Path) -> None:
    container, lines = python(STUBBORN, tmp_path)
    assert lines.get(timeout=10) == "ready"
    container.stop(600)
    container.stop(0.1)
    assert container.wait() == 137


def test_a_second_stop_cannot_give_it_more_time(tmp_path: Path) -> None:
    container, lines = python(STUBBORN, tmp_path)
    assert lines.get(timeout=10) == "ready"
    container.stop(0.1)
    container.stop(600)
    assert container.wait() == 137


def test_a_child_that_keeps_the_output_open_does_not_keep_the_task(tmp_path: Path) -> None:
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '30']).pid, flush=True)"
    container, lines = python(code, tmp_path)
    assert container.wait() == 0
    os.kill(int(lines.get(timeout=10)), 9)


def test_a_command_that_does_not_exist_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no-such-program"):
        Container(["no-such-program"], folder=tmp_path, environment=os.environ, line=print)
