"""The `jobs` command as tests call it."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

JOBS = Path(sys.executable).with_name("jobs")


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


Jobs = Callable[..., Done]


def environment(url: str) -> dict[str, str]:
    """Nothing of the caller's environment that names a database but the given one."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("SHIFTLOCK_")}
    return {**mine, "SHIFTLOCK_DATABASE_URL": url}


def start(url: str, *arguments: str) -> subprocess.Popen[str]:
    """The installed command as a process of its own."""
    return subprocess.Popen(
        [JOBS, *arguments], env=environment(url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(process: subprocess.Popen[str]) -> Done:
    """Its end, which comes within a minute or fails the test."""
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return Done(process.returncode, out, err)


def by_process(url: str, *arguments: str) -> Done:
    """Run the installed command."""
    return finished(start(url, *arguments))
