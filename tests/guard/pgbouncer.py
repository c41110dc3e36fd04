"""A real PgBouncer before a PostgreSQL, as Debian packages it."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

PROGRAM = Path("/usr/sbin/pgbouncer")
IS_UP = "process up"

# auth_type any: whoever comes is logged in to the server as its superuser.
SETTINGS = """
[databases]
* = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
admin_users = any
max_client_conn = 100
log_connections = 0
log_disconnections = 0
log_pooler_errors = 0
log_stats = 0
"""


@contextmanager
def pgbouncer(url: str, **settings: object) -> Iterator[str]:
    """Yield the libpq URL of the database at `url` through a PgBouncer that pools transactions over 5 connections.

    settings: PgBouncer's own, which win over these. Its process ends with this one, however that ends, and leaves
    no file behind.
    """
    port = _free_port()
    process = _start(url, port, {"pool_mode": "transaction", "default_pool_size": 5} | settings)
    try:
        yield make_conninfo(url, host="127.0.0.1", port=port)
    finally:
        process.kill()
        process.communicate()


def _start(url: str, port: int, settings: dict[str, object]) -> subprocess.Popen[str]:
    facts = conninfo_to_dict(url)
    known = {key: facts[key] for key in ("host", "port", "user", "password") if key in facts}
    text = SETTINGS.format(server=" ".join(f"{key}='{value}'" for key, value in known.items()), port=port)
    text += "".join(f"{key} = {value}\n" for key, value in settings.items())
    file = os.memfd_create("pgbouncer.ini")
    try:
        os.write(file, text.encode())
        process = subprocess.Popen(
            # The kernel kills it when the thread that started it ends.
            ["setpriv", "--pdeathsig=KILL", *_account(), "--", PROGRAM, f"/proc/self/fd/{file}"],
            pass_fds=[file],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    finally:
        os.close(file)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        if IS_UP in line:
            return process
        said.append(line)
    raise RuntimeError(f"PgBouncer does not start, status {process.wait()}: {''.join(said)}")


def _account() -> list[str]:
    """It refuses to run as root."""
    return ["--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
