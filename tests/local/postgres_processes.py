"""Processes that use a local PostgreSQL in a test, the server's own, and how to wait for their end."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg

from tests.local.ordinary_user import Python

PATIENCE = 30.0  # seconds that a process may take to end on a busy machine
THIS_PYTHON = Python()

# A process that uses a server: says its URL, then stays until its input ends.
USER = """
import sys
from pathlib import Path
from ops.local.postgres import server

folder, binaries = (Path(argument) if argument else None for argument in sys.argv[1:])
with server(folder, fast=True, binaries=binaries) as url:
    try:
        print(url, flush=True)
        sys.stdin.read()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.stdin.read()
"""


@contextmanager
def user(
    folder: Path | None, *, binaries: Path | None = None, python: Python = THIS_PYTHON, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """A process that uses a server, in a process group of its own; killed at the end if it still runs."""
    with subprocess.Popen(
        [python.program, "-c", USER, str(folder or ""), str(binaries or "")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
        user=python.user,
        group=python.group,
        extra_groups=None if python.user is None else [],
        env=os.environ | python.environment | environment,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    """The next line that the process prints."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def leave(process: subprocess.Popen[str]) -> None:
    """Let the process leave its server in order."""
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def data_folder(url: str) -> Path:
    return Path(parse_qs(urlsplit(url).query)["host"][0])


def postmaster(data: Path) -> psutil.Process:
    return psutil.Process(int((data / "postmaster.pid").read_text().splitlines()[0]))


def assert_end(processes: list[psutil.Process]) -> None:
    """Wait until all of them have ended."""
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert alive == []


def execute(url: str, statement: LiteralString) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def answer(url: str, query: LiteralString) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]
