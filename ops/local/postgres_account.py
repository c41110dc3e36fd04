"""Who PostgreSQL runs as: it refuses to run as root, so root hands it to the owner of the data or to `nobody`."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ops.local.postgres_error import LocalPostgresError


@dataclass(frozen=True, slots=True)
class Account:
    """The user and group of a server; `given_up_root` says that this process is root and the server must not be."""

    uid: int
    gid: int
    given_up_root: bool

    def own(self, folder: Path) -> None:
        """Make the account the owner of `folder`, which this process has just made. Raises OSError."""
        if self.given_up_root:
            os.chown(folder, self.uid, self.gid)

    def run(
        self,
        command: Sequence[str | Path],
        *,
        data: Path | None = None,
        output: int | IO[bytes] = subprocess.PIPE,
        descriptors: Sequence[int] = (),
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program of PostgreSQL to its end; `output` takes what it prints. Raises OSError if it cannot be run.

        `data` is the folder it works on. The environment tells it, since pg_ctl would put an argument between double
        quotes into a command for the shell, and a folder's name may hold a quote or a dollar. The program gets a
        session of its own, since Ctrl-C is meant for this process and not for its server.
        """
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        if data is not None:
            environment["PGDATA"] = str(data)
        return subprocess.run(
            command,
            check=False,
            cwd="/",
            env=environment | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=descriptors,
            start_new_session=True,
            user=self.uid if self.given_up_root else None,
            group=self.gid if self.given_up_root else None,
            extra_groups=[] if self.given_up_root else None,
        )

    @contextmanager
    def way_to(self, folder: Path) -> Iterator[tuple[Path, tuple[int, ...]]]:
        """A path by which the account reaches its own `folder`, and the descriptors to pass along with it.

        A folder above may be closed to the account, such as /root. Its mode is not ours to change, but a descriptor
        that root has opened leads past it. Only Linux can follow one to a folder.
        """
        if not (self.given_up_root and sys.platform == "linux"):
            yield folder, ()
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield Path(f"/proc/self/fd/{descriptor}"), (descriptor,)
        finally:
            os.close(descriptor)


def account_for(data: Path) -> Account:
    """The account for the data folder `data`, which need not exist yet.

    Raises LocalPostgresError when this process is root and the system has no `nobody`.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), given_up_root=False)
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid, given_up_root=True)
    try:
        nobody = pwd.getpwnam("nobody")  # initdb wants a name for its user, so a number that is merely free will not do
    except KeyError:
        raise LocalPostgresError(
            "root may not run it, and there is no user `nobody`", where=data.parent, remedy="run as an ordinary user"
        ) from None
    return Account(nobody.pw_uid, nobody.pw_gid, given_up_root=True)
