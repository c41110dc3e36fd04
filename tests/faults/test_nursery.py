"""However the nursery ends, it leaves no worker behind, and least of all a frozen one."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

import psutil
import pytest

from tests.faults.worker import Order
from tests.faults.workers import start_nursery
from tests.local.postgres_processes import PATIENCE, assert_end

# A worker stands here before it needs a database.
NOWHERE = "host=/nowhere"
BOUNDARY = "connect#1:before"
FROZEN = 3


@pytest.fixture
def nurseries() -> Iterator[list[subprocess.Popen[bytes]]]:
    """One for each end."""
    with ExitStack() as stack:
        log = stack.enter_context(tempfile.TemporaryFile())
        yield [stack.enter_context(_nursery(log)) for _ in ENDS]


@contextmanager
def _nursery(log: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    process = start_nursery(log)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def lose_reader(nursery: subprocess.Popen[bytes]) -> None:
    """It learns of that from its next news, and its commands have no end."""
    assert nursery.stdout is not None
    nursery.stdout.close()
    _order(nursery, FROZEN + 1)


End = Callable[[subprocess.Popen[bytes]], None]
ENDS: list[End] = [lose_reader, subprocess.Popen.terminate]
if sys.platform == "linux":  # elsewhere nobody tells the workers of a nursery that was killed
    ENDS.append(subprocess.Popen.kill)


def test_a_nursery_takes_frozen_workers_along_however_it_ends(nurseries: list[subprocess.Popen[bytes]]) -> None:
    for nursery in nurseries:
        for number in range(FROZEN):
            _order(nursery, number)
    workers = [_frozen(nursery) for nursery in nurseries]
    for nursery, end in zip(nurseries, ENDS, strict=True):
        end(nursery)
    for nursery, its_own in zip(nurseries, workers, strict=True):
        nursery.wait(PATIENCE)
        assert_end(its_own)


def _order(nursery: subprocess.Popen[bytes], number: int) -> None:
    order = Order(
        number=number,
        url=NOWHERE,
        job="frozen",
        expression="0 0 * * ? *",
        tick="2026-11-28T00:00:00+00:00",
        lease=1.0,
        dwell=0.0,
        boundary=BOUNDARY,
        signal=signal.SIGSTOP,
    )
    assert nursery.stdin is not None
    nursery.stdin.write(json.dumps({"order": order.to_json()}).encode() + b"\n")
    nursery.stdin.flush()


def _frozen(nursery: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The workers, once all of them stand still."""
    assert nursery.stdout is not None
    workers: list[psutil.Process] = []
    standing = 0
    while standing < FROZEN:
        news = json.loads(nursery.stdout.readline())
        if news["kind"] == "started":
            workers.append(psutil.Process(int(news["text"])))
        standing += news["kind"] == "stopped"
    return workers
