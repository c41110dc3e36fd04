"""What was left out stands at the end of the report, however many processes ran the tests."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFTEST = """
from pathlib import Path
from tests.left_out import NAME, LeftOut

def pytest_configure(config):
    config.pluginmanager.register(LeftOut({Path(__file__).with_name("test_far.py"): "a far machine"}), NAME)
"""
# Else it would clear up after earlier runs of all tests, which takes its time.
PRIVATE = ("-o", "tmp_path_retention_count=1000")
LINE = "test_far.py, which needs a far machine"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_far.py").write_text("def test_far(): assert False")
    (tmp_path / "test_near.py").write_text("def test_near(): pass")
    return tmp_path


@pytest.mark.parametrize("processes", [0, 2])
def test_a_file_that_was_left_out_is_named_once_with_what_it_needs(suite: Path, processes: int) -> None:
    lines = _report(suite, ".", f"-n{processes}")
    assert lines.count(LINE) == 1
    assert "1 passed" in lines[-1]


def test_nothing_is_said_when_nothing_was_left_out(suite: Path) -> None:
    assert "left out" not in "\n".join(_report(suite, "test_near.py", "-n0"))


def _report(suite: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", suite, *PRIVATE, *arguments],
        cwd=suite,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()
