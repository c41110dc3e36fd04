"""SQS behind a door: moto's queues for other processes. A test decides when a call goes in and is answered."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Event, Thread
from typing import Any

from botocore.exceptions import ClientError

LONG = 60.0  # seconds; how long anybody waits for anybody


@dataclass
class Call:
    """A call of SendMessageBatch at the door, which goes in when it may and is answered when it may."""

    keys: list[str]
    may_go_in: Event = field(default_factory=Event)
    is_in: Event = field(default_factory=Event)
    may_be_answered: Event = field(default_factory=Event)

    def let_in(self) -> None:
        """Let SQS have it, and wait until it has; there is no answer yet."""
        self.may_go_in.set()
        assert self.is_in.wait(LONG)

    def let_through(self) -> None:
        """Let SQS have it and answer."""
        self.may_be_answered.set()
        self.may_go_in.set()


@dataclass
class Door:
    """url: the endpoint of SQS for other processes. came: all calls that have; calls: those not asked for yet."""

    url: str
    calls: "Queue[Call]" = field(default_factory=Queue)
    came: list[Call] = field(default_factory=list)

    def next_call(self) -> Call:
        """The next call, once it has come."""
        return self.calls.get(timeout=LONG)


@contextmanager
def door_to(sqs: Any) -> Iterator[Door]:
    """A door to the queues of this client; closed at the end with all that waits at it."""
    closing = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that the base class looks for
            operation = self.headers["X-Amz-Target"].rpartition(".")[2]
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            call = Call([json.loads(entry["MessageBody"])["key"] for entry in asked["Entries"]])
            door.came.append(call)
            door.calls.put(call)
            assert call.may_go_in.wait(LONG)
            if closing.is_set():
                return
            status, answer = _answer(sqs, operation, asked)
            call.is_in.set()
            assert call.may_be_answered.wait(LONG)
            with suppress(ConnectionError):  # whoever asked was killed meanwhile
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.0")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        door = Door(f"http://127.0.0.1:{server.server_address[1]}")
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield door
        finally:
            closing.set()
            server.shutdown()
            for call in door.came:
                call.let_through()


def _answer(sqs: Any, operation: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    method = getattr(sqs, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower())
    try:
        answer: dict[str, Any] = method(**asked)
    except ClientError as error:
        return 400, {"__type": error.response["Error"]["Code"], "message": error.response["Error"]["Message"]}
    del answer["ResponseMetadata"]
    return 200, answer
