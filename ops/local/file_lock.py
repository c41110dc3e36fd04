"""Advisory locks on files (flock): the kernel frees one when its holders are dead, however they died."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the file at `path`, made if missing, alone; waits for it. Raises OSError."""
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def try_exclusive(file: IO[bytes]) -> bool:
    """Lock the open file alone if nobody else holds it. A shared lock held before on `file` is given up either way."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def held(path: Path) -> bool:
    """Whether somebody holds the file at `path` alone."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


class Taken(Exception):
    """Somebody else holds the lock; the message names the file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is locked: it runs already, in another terminal; stop that first")


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold the file at `path`, made if missing, alone. Raises Taken at once when somebody else does, and OSError."""
    with open(path, "ab") as file:
        if not try_exclusive(file):
            raise Taken(path)
        yield
