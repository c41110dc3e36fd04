"""A TCP way to a server that can be cut, held up, and led to another server."""

import select
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Thread
from typing import Self

from psycopg import conninfo

from tests.faults.plan import Cut

NO_LINGER = struct.pack("ii", 1, 0)  # close with a reset (socket(7), SO_LINGER)


@dataclass(eq=False, slots=True)
class Link:
    """A client's connection and its own to the server. A side that is held is not read from."""

    client: socket.socket
    server: socket.socket
    client_held: bool = False
    server_held: bool = False

    def reset(self) -> None:
        """Break it, so that neither side gets an orderly end."""
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.client.close()
        self.server.close()


class Proxy:
    """Listens on a free port of 127.0.0.1 and passes everything on to a server."""

    def __init__(self, url: str) -> None:
        self._target = _socket_of(url)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._port = self._listener.getsockname()[1]
        self._links: set[Link] = set()
        self._orders: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._poked, self._poke = socket.socketpair()
        self._open = True
        self._thread = Thread(target=self._serve, name="proxy", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._close)
        self._thread.join()

    def through(self, url: str) -> str:
        """The URL of the same database by way of this proxy."""
        return conninfo.make_conninfo(url, host="127.0.0.1", port=self._port)

    def lead_to(self, url: str) -> None:
        """Pass new connections on to this server."""
        self._target = _socket_of(url)

    def cut(self, how: Cut) -> Callable[[], object]:
        """Do that to all connections there are; new ones are not affected. Returns what brings it to its end.

        reset: both sides get a reset. silence: nothing passes any more, and nobody is told; at its end both sides get a
        reset. deaf: the server still gets what is sent, and its answers do not pass. late: nothing passes until the
        end, then all of it.
        """
        held: list[Link] = []

        def begin() -> None:
            held.extend(self._links)
            for link in held:
                link.client_held = how != "deaf"
                link.server_held = True
            if how == "reset":
                self._reset(held)

        def end() -> None:
            if how != "late":
                self._reset(held)
            for link in held:
                link.client_held = link.server_held = False

        self._do(begin)
        return lambda: self._do(end)

    def _do(self, order: Callable[[], object]) -> None:
        done = Event()

        def carry_out() -> None:
            order()
            done.set()

        self._orders.put(carry_out)
        self._poke.send(b"!")
        done.wait()

    def _serve(self) -> None:
        while self._open:
            sides = {link.client: link for link in self._links if not link.client_held}
            sides |= {link.server: link for link in self._links if not link.server_held}
            ready = select.select([self._poked, self._listener, *sides], [], [])[0]
            if self._poked in ready:
                self._poked.recv(1)
                self._orders.get()()
                continue  # the order may have closed what is ready
            if self._listener in ready:
                self._accept()
            for side in ready:
                if side in sides and sides[side] in self._links:
                    self._pass_on(sides[side], side)

    def _accept(self) -> None:
        client = self._listener.accept()[0]
        server = socket.socket(socket.AF_UNIX if isinstance(self._target, str) else socket.AF_INET)
        link = Link(client, server)
        try:
            server.connect(self._target)
        except OSError:
            link.reset()
        else:
            self._links.add(link)

    def _pass_on(self, link: Link, side: socket.socket) -> None:
        other = link.server if side is link.client else link.client
        try:
            data = side.recv(1 << 16)
            if data:
                other.sendall(data)
        except OSError:
            data = b""
        if not data:
            self._links.discard(link)
            link.client.close()
            link.server.close()

    def _reset(self, links: list[Link]) -> None:
        for link in links:
            if link in self._links:
                self._links.discard(link)
                link.reset()

    def _close(self) -> None:
        self._open = False
        self._reset(list(self._links))
        self._listener.close()


def _socket_of(url: str) -> str | tuple[str, int]:
    """Where the server listens: a path, or host and port."""
    facts = conninfo.conninfo_to_dict(url)
    host, port = str(facts["host"]), int(str(facts["port"]))
    return f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)
