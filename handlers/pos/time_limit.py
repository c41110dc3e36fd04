"""A limit to a whole exchange. A client's timeouts count from byte to byte, and a server that drips meets none."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

CONNECTED = "connection.connect_tcp.complete"


class TimeLimit:
    """Shuts the connection down when an exchange takes longer than so many seconds; whoever reads then sees its end.

    It learns of the connection from httpx's request extension `trace`. One client, one connection at a time.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._socket: socket.socket | None = None
        self.passed = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Take note of a new connection; for `extensions={"trace": ...}`."""
        if event != CONNECTED:
            return
        self.close()
        # A descriptor of our own for the same connection: TLS takes the first one away from its object.
        self._socket = info["return_value"].get_extra_info("socket").dup()
        if self.passed:
            self._shut_down()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Limit what is done within; `passed` says afterwards whether the limit was met."""
        self.passed = False
        timer = threading.Timer(self._seconds, self._pass)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def close(self) -> None:
        """Let go of the connection."""
        if self._socket is not None:
            self._socket.close()

    def _pass(self) -> None:
        self.passed = True
        self._shut_down()

    def _shut_down(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # it has ended by itself
                self._socket.shutdown(socket.SHUT_RDWR)
