"""A server whose disk can be filled up and cleared: `python -m tests.faults.disk FOLDER MEANS`.

Two means give it such a disk, without being root; where the system does not allow the one that is asked for, the other
takes its place:

a full tmpfs: a small file system in memory that only this process and its children see, in a mount namespace of their
own (user_namespaces(7)), which is gone with them however they end.
growth refused: see no_space.

Prints the means and the URL, or `-` and why there is neither. Then obeys `fill LEFT` (bytes to leave free) and
`clear`, answering each with the URL, until its standard input ends.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from ops.local.postgres import server
from tests.faults.no_space import Disk

SIZE = 400 << 20  # bytes: room for a server and the databases of a batch
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000

libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Means:
    """What fills the disk but for so many bytes, and what clears it."""

    fill: Callable[[int], object]
    clear: Callable[[], object]


def full_tmpfs(folder: Path) -> Means:
    """Mount the small disk at the folder, for this process and its children. Raises OSError."""
    if (probe := os.fork()) == 0:  # a failure halfway would leave this process in namespaces of its own
        try:
            _mount(folder)
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    if refused := os.waitstatus_to_exitcode(os.waitpid(probe, 0)[1]):
        raise OSError(refused, os.strerror(refused))
    _mount(folder)
    ballast = folder / "ballast"
    return Means(lambda left: _fill(ballast, left), ballast.unlink)


def _mount(folder: Path) -> None:
    uid, gid = os.geteuid(), os.getegid()
    _call("unshare", CLONE_NEWNS if uid == 0 else CLONE_NEWNS | CLONE_NEWUSER)
    if uid != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={SIZE},mode=755".encode())


def _call(name: str, *arguments: object) -> None:
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _fill(ballast: Path, left: int) -> None:
    with ballast.open("ab", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass
    os.truncate(ballast, max(0, ballast.stat().st_size - left))


def growth_refused(_: Path) -> Means:
    """Have the files of this process's children grow no more, anywhere. Raises OSError."""
    disk = Disk()

    def leave(left: int | None) -> None:
        disk.left = left

    return Means(leave, lambda: leave(None))


MEANS: Mapping[str, Callable[[Path], Means]] = {"a full tmpfs": full_tmpfs, "growth refused": growth_refused}


def main(folder: Path, wanted: str) -> None:
    """Serve until the input ends."""
    refused: list[str] = []
    for name in sorted(MEANS, key=lambda name: name != wanted):
        try:
            means = MEANS[name](folder)
        except OSError as error:
            refused.append(f"{name}: {error.strerror}")
        else:
            return _serve(folder, name, means)
    return _say(f"- this machine allows no means to fill a disk ({'; '.join(refused)})")


def _serve(folder: Path, name: str, means: Means) -> None:
    base = folder / "server"
    settings = {"max_connections": "200", "max_wal_size": "80MB"}
    with ExitStack() as stack:
        url = stack.enter_context(server(base, tcp=True, settings=settings))
        _say(f"{name} {url}")
        for line in sys.stdin:
            match line.split():
                case ["fill", left]:
                    means.fill(int(left))
                case ["clear"]:
                    means.clear()
                    # A server that could not write its log has ended itself.
                    url = stack.enter_context(server(base, tcp=True, settings=settings))
            _say(url)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
