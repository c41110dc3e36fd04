"""A server lives as long as it has users, however they end.

Each user holds a shared lock and has a guard, a small process in a session of its own. The last user to leave stops the
server. For a user that was killed its guard does so: it waits until the kernel has freed the locks of all users.
"""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from ops.local.file_lock import exclusive, try_exclusive
from ops.local.postgres_cluster import Cluster

ROOT = Path(__file__).parents[2]


@contextmanager
def use(cluster: Cluster, *, throwaway: bool) -> Iterator[None]:
    """Be a user of the cluster's server; the last one to leave stops it and deletes a throwaway one.

    Raises OSError when the folder cannot be used, LocalPostgresError when the server does not stop.
    """
    # The guard comes first and is waited for last: a user that is cut off anywhere in between leaves the rest to it.
    with _guard(cluster, throwaway=throwaway) as guard, _opened(cluster, throwaway=throwaway) as users:
        fcntl.flock(users, fcntl.LOCK_SH)  # waits for one who is just stopping the server
        cast(IO[bytes], guard.stdin).close()
        try:
            yield
        finally:
            # A missing folder was deleted under the server: PostgreSQL notices that itself and ends within a minute.
            # One leaves at a time, or two that leave at once would each take the other for one who stays.
            with suppress(FileNotFoundError), exclusive(cluster.turn_lock):
                if try_exclusive(users):
                    _retire(cluster, throwaway=throwaway)
                else:
                    fcntl.flock(users, fcntl.LOCK_SH)  # another one stays; or a guard was quicker, then wait for it
                guard.kill()
                fcntl.flock(users, fcntl.LOCK_UN)
            guard.kill()


def _opened(cluster: Cluster, *, throwaway: bool) -> IO[bytes]:
    """The open file of the users' lock in the cluster's folder, which is made; a throwaway one must be new."""
    cluster.base.mkdir(mode=0o700 if throwaway else 0o777, parents=True, exist_ok=not throwaway)
    return open(cluster.users_lock, "ab")


def _guard(cluster: Cluster, *, throwaway: bool) -> subprocess.Popen[bytes]:
    """Start a guard, whose watch begins when its standard input ends: at the latest with this process."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__, cluster.base, "throwaway" if throwaway else "kept"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _watch(cluster: Cluster, start: IO[bytes], *, throwaway: bool) -> None:
    start.read()
    with suppress(FileNotFoundError), open(cluster.users_lock, "ab") as users:  # the folder may be gone already
        fcntl.flock(users, fcntl.LOCK_EX)
        _retire(cluster, throwaway=throwaway)


def _retire(cluster: Cluster, *, throwaway: bool) -> None:
    """Stop the server that nobody uses. Only for the one who holds `users_lock` alone."""
    cluster.stop(at_once=throwaway)
    if throwaway:
        shutil.rmtree(cluster.base, ignore_errors=True)


if __name__ == "__main__":
    _watch(Cluster(Path(sys.argv[1])), sys.stdin.buffer, throwaway=sys.argv[2] == "throwaway")
