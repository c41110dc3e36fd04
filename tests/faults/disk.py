"""A server whose disk can be filled up and cleared: `python -m tests.faults.disk FOLDER`.

The disk is a small file system in memory that only this process and its children see: in a mount namespace of their
own, which also an ordinary user may have (user_namespaces(7)), and which is gone with them however they end. Where the
system allows none, a limit on the size of the server's files takes its place (RLIMIT_FSIZE): the writes fail as well,
only with another error.

Prints the mechanism and the URL, then obeys `fill LEFT` (bytes to leave free) and `clear`, answering each with a line,
until its standard input ends.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal

import psutil

from ops.local.postgres import server
from ops.local.postgres_account import account_for

SIZE = 400 << 20  # bytes: room for a server and the databases of a batch
LARGEST_FILE = 17 << 20  # bytes: more than a segment of the log, which must not fail, or the server would end itself
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def mount_disk(folder: Path) -> bool:
    """Mount the small disk at the folder, for this process and its children; False where that is not allowed."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        _call(libc.unshare, CLONE_NEWNS if uid == 0 else CLONE_NEWNS | CLONE_NEWUSER)
        if uid != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        _call(libc.mount, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        _call(libc.mount, b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={SIZE},mode=755".encode())
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EINVAL, errno.ENOENT):
            return False
        raise
    return True


def _call(function: Callable[..., int], *arguments: object) -> None:
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def fill(ballast: Path, left: int) -> None:
    """Write until the disk is full but for so many bytes."""
    with ballast.open("ab", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass
    os.truncate(ballast, max(0, ballast.stat().st_size - left))


def limit(base: Path, largest: int | Literal["unlimited"]) -> None:
    """Let no file of the server in this folder grow beyond so many bytes. Its own account may do that."""
    data = base / "data"
    with suppress(psutil.NoSuchProcess, FileNotFoundError):
        postmaster = psutil.Process(int((data / "postmaster.pid").read_text().splitlines()[0]))
        for process in (postmaster, *postmaster.children()):
            account_for(data).run(["prlimit", f"--pid={process.pid}", f"--fsize={largest}:unlimited"])


def main(folder: Path) -> None:
    """Serve until the input ends."""
    mounted = mount_disk(folder)
    ballast, base = folder / "ballast", folder / "server"
    settings = {"max_connections": "200", "max_wal_size": "80MB"}
    with ExitStack() as stack:
        url = stack.enter_context(server(base, tcp=True, settings=settings))
        _say(f"{'a full tmpfs' if mounted else 'a limit on file sizes'} {url}")
        for line in sys.stdin:
            match line.split():
                case ["fill", left] if mounted:
                    fill(ballast, int(left))
                case ["fill", _]:
                    limit(base, LARGEST_FILE)
                case ["clear"]:
                    if mounted:
                        ballast.unlink()
                    else:
                        limit(base, "unlimited")
                    # A server that could not write its log has ended itself.
                    url = stack.enter_context(server(base, tcp=True, settings=settings))
            _say(url)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
