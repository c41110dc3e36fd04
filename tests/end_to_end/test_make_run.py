"""`make run` from start to end, small: it settles, repeats nothing, and leaves no process however it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from handlers.schedule import SCHEDULE
from ops.local.deployed import SERVICE

SMALL = ["--days", "2", "--restaurants", "6", "--orders-per-day", "60"]


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """`make run` in a session of its own, as a terminal would have it."""
    return subprocess.Popen(
        [sys.executable, "-m", "ops.local.run", "--folder", folder, *SMALL, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def read_until(process: subprocess.Popen[str], word: str) -> None:
    """Read what it prints up to a line with that word."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if word in line:
            return
    raise AssertionError("".join(said) + (process.stderr.read() if process.stderr else ""))


def of_folder(folder: Path) -> list[psutil.Process]:
    """Every process that has the folder in its arguments, environment or working folder."""
    found = []
    for process in psutil.process_iter():
        try:
            facts = [*process.cmdline(), *process.environ().values(), process.cwd()]
        except psutil.Error:
            continue  # it has ended, or is not ours to look at
        if process.pid != os.getpid() and any(str(folder) in fact for fact in facts):
            found.append(process)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run") / "data folder"


def test_it_settles_with_one_success_of_each_job(folder: Path) -> None:
    process = start(folder, "--until", "settled")
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, out + err
    assert out.count("ring ") == sum(job.scheduled for job in SCHEDULE)
    assert "3 messages to image-resize" in out
    assert f"settled: all {len(SCHEDULE)} jobs have succeeded" in out
    assert "services publish here after: . " in out
    assert not (folder / SERVICE).exists()


def test_a_second_start_repeats_no_work(folder: Path) -> None:
    process = start(folder, "--until", "settled")
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, out + err
    assert "ring " not in out
    assert "messages to" not in out
    assert "restaurant data" in out
    assert "complete" in out


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_no_process_is_left_when_it_is_stopped(folder: Path, sign: signal.Signals, code: int) -> None:
    process = start(folder)
    read_until(process, "up after")
    started = of_folder(folder)
    assert len(started) > 2
    assert "SHIFTLOCK_QUEUES" in (folder / SERVICE).read_text()
    process.send_signal(sign)
    process.communicate(timeout=60)
    assert process.returncode == code
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not alive
    assert not of_folder(folder)


def test_a_second_one_beside_it_is_refused_in_one_line(folder: Path) -> None:
    first = start(folder)
    try:
        read_until(first, "Shiftlock on this machine")
        second = start(folder)
        _, err = second.communicate(timeout=60)
        assert second.returncode == 1
        assert err.count("\n") == 1
        assert "run.lock is locked" in err
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
