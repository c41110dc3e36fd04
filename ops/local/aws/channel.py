"""JSON messages, one a line, over the socket between the parent and the server process.

The socket is the lifeline too: when the parent dies, however it dies, the kernel closes its end and the server
process reads the end of the stream.
"""

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any


class Channel:
    """One end of the conversation; not for use by two threads at once."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._lines = end.makefile("rb")

    def send(self, message: Mapping[str, object]) -> None:
        """Sends one message; raises OSError when the other end is gone."""
        self._end.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """The next message; None when the other end is gone."""
        try:
            line = self._lines.readline()
        except ConnectionResetError:
            return None
        return json.loads(line) if line.endswith(b"\n") else None

    def end_of_input(self) -> None:
        """Makes this end's `receive` answer None from now on; safe inside a signal handler."""
        self._end.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Ends the conversation for both, also when a forked process still holds a copy of this end."""
        with suppress(OSError):  # the other end may be gone, or this one closed before
            self._end.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._end.close()
