"""A transaction pooler in a thread: each statement of a client goes to the next of two sessions of the server.

It refuses settings that come with the connection, as PgBouncer does, and can lose an answer on its way back.
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle

from psycopg.conninfo import conninfo_to_dict, make_conninfo

REFUSALS_OF_ENCRYPTION = {80877103: b"N", 80877104: b"N"}  # SSLRequest, GSSENCRequest
OWN_PROCESS_ID = struct.pack("!IiI", 12, 4711, 0)


class Wire:
    """One side of a conversation in PostgreSQL's protocol (PostgreSQL manual, "Message Formats")."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self._reader = link.makefile("rb")

    def startup(self) -> bytes:
        """A client's first message."""
        return self._sized(b"")

    def message(self) -> bytes:
        """The next message; empty at the end of the conversation."""
        kind = self._reader.read(1)
        return self._sized(kind) if kind else b""

    def _sized(self, kind: bytes) -> bytes:
        size = self._reader.read(4)
        return kind + size + self._reader.read(int.from_bytes(size) - 4)


class Pooler:
    """The pooler of one server. statements: how many it passed on."""

    def __init__(self, url: str) -> None:
        facts = conninfo_to_dict(url)
        self._server = f"{facts['host']}/.s.PGSQL.{facts['port']}"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = make_conninfo(url, host="127.0.0.1", port=self._listener.getsockname()[1])
        self.statements = 0
        self.lose_the_next_answer = False
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._open = ExitStack()

    def start(self) -> None:
        self._threads[0].start()

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        self._open.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            self._open.callback(_hang_up, link)
            self._threads.append(threading.Thread(target=self._serve, args=(link,), daemon=True))
            self._threads[-1].start()

    def _serve(self, link: socket.socket) -> None:
        with link, ExitStack() as sessions:
            client = Wire(link)
            startup = client.startup()
            while answer := REFUSALS_OF_ENCRYPTION.get(int.from_bytes(startup[4:8])):
                link.sendall(answer)
                startup = client.startup()
            assert b"\0options\0" not in startup, "unsupported startup parameter: options"
            servers = [self._session(startup, sessions) for _ in range(2)]
            greeting, _ = [self._until_ready(server) for server in servers]
            link.sendall(b"".join(b"K" + OWN_PROCESS_ID if part[:1] == b"K" else part for part in greeting))
            for server in cycle(servers):
                if not self._pass_on(client, server):
                    return

    def _session(self, startup: bytes, sessions: ExitStack) -> Wire:
        link = sessions.enter_context(socket.socket(socket.AF_UNIX))
        link.connect(self._server)
        link.sendall(startup)
        return Wire(link)

    def _pass_on(self, client: Wire, server: Wire) -> bool:
        """One statement and its answer; whether the conversation goes on."""
        request: list[bytes] = []
        while not request or request[-1][:1] not in (b"S", b"Q"):
            request.append(client.message())
            if request[-1][:1] in (b"", b"X"):
                return False
        server.link.sendall(b"".join(request))
        answer = b"".join(self._until_ready(server))
        self.statements += 1
        if self.lose_the_next_answer:
            self.lose_the_next_answer = False
            return False
        client.link.sendall(answer)
        return True

    @staticmethod
    def _until_ready(server: Wire) -> list[bytes]:
        parts = [server.message()]
        while parts[-1][:1] != b"Z":
            parts.append(server.message())
        return parts


def _hang_up(link: socket.socket) -> None:
    if link.fileno() >= 0:
        link.shutdown(socket.SHUT_RDWR)


@contextmanager
def pooler_before(url: str) -> Iterator[Pooler]:
    """A running pooler before the server of a database."""
    pooler = Pooler(url)
    pooler.start()
    try:
        yield pooler
    finally:
        pooler.stop()
