"""Where the sample's functions and tasks tell a test what they got."""

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

SECONDS = 30.0


class Listener:
    """Collects reports on a port of 127.0.0.1 until closed."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._reports: list[dict[str, Any]] = []
        self._arrived = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def wait(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = SECONDS) -> dict[str, Any]:
        """The first report that is wanted, taken out; raises TimeoutError with all that came instead."""

        def found() -> dict[str, Any] | None:
            return next((report for report in self._reports if wanted(report)), None)

        with self._arrived:
            report = self._arrived.wait_for(found, seconds)
            if report is None:
                raise TimeoutError(f"no such report among {[sorted(one) for one in self._reports]}")
            self._reports.remove(report)
            return report

    def close(self) -> None:
        self._socket.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            with connection, connection.makefile("rb") as stream:
                report = json.loads(stream.read() or b"{}")
            with self._arrived:
                self._reports.append(report)
                self._arrived.notify_all()
