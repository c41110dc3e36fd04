"""A server that is not there, or breaks off."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import boto3
import pytest
from botocore.config import Config

from handlers.files.bucket import Bucket
from handlers.files.errors import BadCredentials, Unreachable

HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: "x"\r\n\r\nhalf'

Serve = Callable[[bytes], str]


def bucket_at(endpoint: str) -> Bucket:
    """The bucket `files` of that server, for a client that tries once and waits a fifth of a second."""
    config = Config(connect_timeout=0.2, read_timeout=0.2, retries={"total_max_attempts": 1})
    session = boto3.session.Session("any", "key")
    client = session.client("s3", "eu-west-1", endpoint_url=endpoint, config=config)
    return Bucket("files", client)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A server that gives the same bytes to one request; with none it says nothing until the test is over."""
    with ExitStack() as stack:
        over = threading.Event()

        def start(answer: bytes) -> str:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def talk() -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)
                    if not answer:
                        over.wait(10)

            thread = threading.Thread(target=talk)
            thread.start()
            stack.callback(thread.join)
            stack.callback(over.set)
            return f"http://127.0.0.1:{listener.getsockname()[1]}"

        yield start


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unreachable, match="bucket files unreachable: Could not connect to the endpoint URL"):
        bucket_at(f"http://127.0.0.1:{port}").read("a", at_most=100)


def test_an_answer_that_breaks_off_is_unreachable(serve: Serve) -> None:
    with pytest.raises(Unreachable, match=r"bucket files unreachable: .*; try again later"):
        bucket_at(serve(HALF)).read("a", at_most=100)


def test_a_server_that_does_not_answer_is_unreachable(serve: Serve) -> None:
    with pytest.raises(Unreachable, match="Read timeout on endpoint URL"):
        bucket_at(serve(b"")).read("a", at_most=100)


def test_a_process_without_credentials_is_told_so(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    session = boto3.session.Session()
    bucket = Bucket("files", session.client("s3", "eu-west-1", endpoint_url="http://127.0.0.1:9"))
    with pytest.raises(BadCredentials, match="Unable to locate credentials; give the process a role"):
        bucket.find("a")
