"""A folder with a PostgreSQL data folder in it: whether a server runs there, how to reach it, how to stop it."""

import hashlib
import os
import shutil
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote

from ops.local.file_lock import try_exclusive
from ops.local.postgres_error import LocalPostgresError

PORT = 5432
PAUSE = 0.01  # seconds between two looks at a server, not our child, that starts or stops
LONGEST_SOCKET_PATH = 103  # bytes: what the address of a Unix socket holds on macOS; Linux takes 107
FAST_SHUTDOWN, IMMEDIATE_SHUTDOWN = signal.SIGINT, signal.SIGQUIT  # PostgreSQL manual, "Shutting Down the Server"


@dataclass(frozen=True, slots=True)
class Running:
    """A server that takes connections. `listens` says whether it does so on 127.0.0.1 beside its socket."""

    port: int
    listens: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """The files of one server below the folder `base`.

    Three of them are only ever locked. `users_lock` is shared by every process that uses the server. `turn_lock` is
    held while one of them starts or leaves it. `server_lock` is inherited by PostgreSQL: while it is held, some process
    of the server lives, which no process number in a file can tell for sure.
    """

    base: Path

    @property
    def data(self) -> Path:
        """PostgreSQL's data folder."""
        return self.base / "data"

    @property
    def log(self) -> Path:
        """What the server has said since its last start."""
        return self.base / "postgres.log"

    @property
    def users_lock(self) -> Path:
        """Locked, shared, by every process that uses the server."""
        return self.base / "users.lock"

    @property
    def turn_lock(self) -> Path:
        """Locked while a process starts or leaves the server."""
        return self.base / "turn.lock"

    @property
    def server_lock(self) -> Path:
        """Locked while a process of the server lives."""
        return self.base / "server.lock"

    @property
    def socket_folder(self) -> Path:
        """Where the socket is: the data folder, or one in /tmp if libpq could not reach it there.

        A socket's path has a largest length, and to libpq a comma separates two hosts.
        """
        path = os.fsencode(self.data / ".s.PGSQL.65535")  # the longest name that a socket may get
        if len(path) <= LONGEST_SOCKET_PATH and not set(b",\n") & set(path):
            return self.data
        # Everybody may write to /tmp; the start makes sure that this folder is its own.
        return Path("/tmp") / f"shiftlock-{hashlib.sha256(path).hexdigest()[:16]}"  # noqa: S108

    def url(self, running: Running, *, tcp: bool) -> str:
        """The libpq URL of the server's database `postgres`, over its socket or over TCP."""
        if tcp:
            return f"postgresql://postgres@127.0.0.1:{running.port}/postgres"
        host = quote(os.fsencode(self.socket_folder), safe="")
        return f"postgresql://postgres@/postgres?host={host}&port={running.port}"

    def running(self) -> Running | None:
        """The server, if it takes connections. A postmaster.pid that a dead one left behind does not count."""
        lines = self._pid_file()
        # PostgreSQL manual, "Database File Layout": pid, data folder, start time, port, socket folder, listen address,
        # shared memory, status. Counted from the end, since the folder may have any name.
        if len(lines) < 8 or lines[-1].strip() != "ready":
            return None
        port = int(lines[-5])
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(os.fsencode(self.socket_folder / f".s.PGSQL.{port}"))
            except OSError:
                return None
        return Running(port, listens=bool(lines[-3].strip()))

    def forget_dead_server(self) -> None:
        """Remove what a server that was killed left behind. Only for the holder of `server_lock`.

        PostgreSQL refuses to start while the process numbers in these files are taken, if by another program.
        """
        for leftover in (self.data / "postmaster.pid", *self.data.glob(".s.PGSQL.*")):
            leftover.unlink(missing_ok=True)

    def stop(self, *, at_once: bool) -> None:
        """Stop the server and wait until its last process is gone; nothing happens if there is none.

        `at_once` leaves the last checkpoint out. Raises LocalPostgresError when it outlives every signal.
        """
        immediate = (IMMEDIATE_SHUTDOWN, 10.0)
        with open(self.server_lock, "ab") as lock:
            for shutdown, patience in (immediate,) if at_once else ((FAST_SHUTDOWN, 60.0), immediate):
                if self._ends(lock, shutdown, patience):
                    break
            else:
                raise LocalPostgresError(
                    "it does not stop", where=self.base, remedy=f"end its process {self._postmaster()} by hand"
                )
        if self.socket_folder != self.data:
            shutil.rmtree(self.socket_folder, ignore_errors=True)

    def _ends(self, lock: IO[bytes], shutdown: signal.Signals, patience: float) -> bool:
        """Tell the server to shut down; whether it is gone within `patience` seconds."""
        told: int | None = None
        deadline = time.monotonic() + patience
        while not try_exclusive(lock):
            if time.monotonic() > deadline:
                return False
            postmaster = self._postmaster()  # a server that has only begun to start has none yet
            if postmaster is not None and postmaster != told:
                with suppress(ProcessLookupError):
                    os.kill(postmaster, shutdown)
                told = postmaster
            time.sleep(PAUSE)  # a lock tells nobody that it is free
        return True

    def _postmaster(self) -> int | None:
        lines = self._pid_file()
        return int(lines[0]) if lines and lines[0].isdigit() else None

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []
