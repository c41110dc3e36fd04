"""A full disk lets no table grow, and a cleared one does again, whatever it was filled by."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.faults.disk import MEANS
from tests.faults.plan import DISKS
from tests.faults.workers import ROOT
from tests.left_out import LeftOut

GROW = "insert into grows select repeat('x', 1000) from generate_series(1, 2000)"


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that the servers' account can reach, also when that is not ours; pytest's own is closed to others."""
    with tempfile.TemporaryDirectory(prefix="shiftlock-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


def test_plans_choose_among_the_means_that_there_are() -> None:
    assert set(DISKS) == MEANS.keys()


@pytest.mark.parametrize("means", DISKS)
def test_a_full_disk_refuses_what_would_grow_a_table_and_reads_and_a_cleared_one_takes_it(
    folder: Path, means: str, left_out: LeftOut
) -> None:
    with _disk(folder, means) as disk:
        found, _, url = _said(disk).rpartition(" ")
        if found != means:
            left_out.add(f"a disk filled by {means}", "a Linux that allows that")
            return
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("create table grows (filler text)")
            _say(disk, "fill 16384")
            with pytest.raises(psycopg.errors.DiskFull):
                connection.execute(GROW)
            assert connection.execute("select count(*) from grows").fetchone() == (0,)
            assert _say(disk, "clear") == url
            assert connection.execute(GROW).rowcount == 2000


@contextmanager
def _disk(folder: Path, means: str) -> Iterator[subprocess.Popen[str]]:
    command: list[str | Path] = [sys.executable, "-m", "tests.faults.disk", folder, means]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def _say(disk: subprocess.Popen[str], command: str) -> str:
    assert disk.stdin is not None
    disk.stdin.write(f"{command}\n")
    disk.stdin.flush()
    return _said(disk)


def _said(disk: subprocess.Popen[str]) -> str:
    assert disk.stdout is not None
    return disk.stdout.readline().rstrip("\n")
