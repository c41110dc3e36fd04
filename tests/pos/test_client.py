"""The client against a POS on a real socket: its answers, and each way in which they fail to come."""

import socket
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Thread
from typing import Any

import httpx
import pytest

from handlers.pos.client import LARGEST_ANSWER, Pos, Timeouts
from handlers.pos.errors import CursorExpired, InvalidAnswer, Refused, Unavailable
from handlers.pos.page import StockPage
from ops.local.pos.faults import Fault
from ops.local.pos.server import PosServer, Request
from tests.pos.clock import Clock

WHERE = r"^POS http://127\.0\.0\.1:[0-9]+, stock of restaurant 1: "
PATIENT = Timeouts(connect=20, read=20, whole=20)


def got(pos: Pos, restaurant: int = 1, *, after: str | None = None, etag: str | None = None) -> StockPage:
    page = pos.stock(restaurant, after=after, etag=etag)
    assert page is not None
    return page


def all_pages(pos: Pos, restaurant: int) -> Iterator[StockPage]:
    page = got(pos, restaurant)
    yield page
    while page.more:
        page = got(pos, restaurant, after=page.cursor)
        yield page


@contextmanager
def once(answer: Callable[[socket.socket, bytes], object]) -> Iterator[httpx.URL]:
    """The URL of a server that reads one request and leaves the rest to `answer`."""

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            answer(client, client.recv(10_000))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield httpx.URL(f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread.join(20)
        assert not thread.is_alive()


def test_the_pages_are_all_changes_in_their_order(pos: Pos, server: PosServer) -> None:
    pages = list(all_pages(pos, 1))
    assert [(page.changes, page.more) for page in pages] == [(10, True), (10, True), (5, False)]
    assert [count for page in pages for count in page.on_hand.items()] == [
        (change.item, change.on_hand) for change in server.changes(1)
    ]


def test_all_requests_of_a_client_share_a_connection(pos: Pos, server: PosServer) -> None:
    list(all_pages(pos, 1))
    assert len(server.requests) == 3
    assert server.connections == 1


def test_nothing_new_is_none_while_the_etag_holds_and_a_page_when_something_has_changed(
    pos: Pos, server: PosServer, clock: Clock
) -> None:
    end = got(pos, 3).cursor
    empty = got(pos, 3, after=end)
    assert (empty.changes, empty.cursor, empty.more) == (0, end, False)
    assert pos.stock(3, after=end, etag=empty.etag) is None
    assert server.requests[-1] == Request(3, end, empty.etag, 304)
    clock.now += 86_400
    assert got(pos, 3, after=end, etag=empty.etag).changes == 7


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408, 425])
def test_a_status_that_passes_is_a_failure_of_the_moment(pos: Pos, server: PosServer, status: int) -> None:
    server.faults.set([Fault("status", status=status)])
    with pytest.raises(Unavailable, match=f"{WHERE}{status} [A-Z]") as failed:
        got(pos)
    assert failed.value.asked_to_wait is None
    assert got(pos).changes == 10


def test_retry_after_is_read_as_seconds_and_as_a_date(pos: Pos, server: PosServer) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    server.faults.set([Fault("status", status=429, headers={"Retry-After": value}) for value in ("7", date)])
    waits = []
    for _ in range(2):
        with pytest.raises(Unavailable) as failed:
            got(pos)
        waits.append(failed.value.asked_to_wait)
    assert waits[0] == timedelta(seconds=7)
    assert waits[1] is not None
    assert timedelta(minutes=59) < waits[1] <= timedelta(hours=1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 422])
def test_a_refusal_is_told_from_a_failure(pos: Pos, server: PosServer, status: int) -> None:
    server.faults.set([Fault("status", status=status)])
    with pytest.raises(Refused, match=f"{WHERE}{status} [A-Z]") as refused:
        got(pos)
    assert "\n" not in str(refused.value)


def test_a_redirect_is_refused_and_not_followed(pos: Pos, server: PosServer) -> None:
    server.faults.set([Fault("status", status=302, headers={"Location": f"{server.url}/v1/restaurants/2/stock"})])
    with pytest.raises(Refused, match=f"{WHERE}302, it is elsewhere; redirects are not followed"):
        got(pos)
    assert [request.restaurant for request in server.requests] == [1]


def test_a_forgotten_cursor_has_an_error_of_its_own(pos: Pos, server: PosServer) -> None:
    server.faults.set([Fault("status", status=410)])
    with pytest.raises(CursorExpired, match="410, cursor 'c5' is no longer known"):
        got(pos, after="c5")


def test_not_modified_without_a_condition_is_no_answer(pos: Pos, server: PosServer) -> None:
    server.faults.set([Fault("status", status=304), Fault("status", status=204)])
    with pytest.raises(InvalidAnswer, match=f"{WHERE}status is 304: allowed is 200, or 304 to a request"):
        got(pos)
    with pytest.raises(InvalidAnswer, match="status is 204"):
        got(pos)


@pytest.mark.parametrize(
    ("kind", "told"),
    [("truncated", "RemoteProtocolError, "), ("broken", "[0-9]+ bytes that are no JSON"), ("reset", "ReadError, ")],
)
def test_an_answer_that_is_cut_off_is_a_failure_of_the_moment(
    pos: Pos, server: PosServer, kind: Any, told: str
) -> None:
    server.faults.set([Fault(kind)])
    with pytest.raises(Unavailable, match=WHERE + told):
        got(pos)
    assert got(pos).changes == 10


def test_an_answer_of_another_shape_is_refused_with_the_field(pos: Pos, server: PosServer) -> None:
    server.faults.set([Fault("body", body='{"restaurant": 1, "changes": [{"item": "101", "on_hand": 4}]}')])
    with pytest.raises(InvalidAnswer, match=f'{WHERE}changes\\[0\\].item is "101": allowed is a whole number'):
        got(pos)


def test_an_answer_that_is_too_long_is_not_read_to_its_end(pos: Pos, server: PosServer) -> None:
    server.faults.set([Fault("long")])
    with pytest.raises(InvalidAnswer, match=f"longer than {LARGEST_ANSWER} bytes"):
        got(pos)
    assert got(pos).changes == 10


def test_a_packed_answer_is_not_unpacked(pos: Pos, server: PosServer) -> None:
    server.faults.set([Fault("body", body="x", headers={"Content-Encoding": "gzip"})])
    with pytest.raises(InvalidAnswer, match="content-encoding is 'gzip': allowed is identity"):
        got(pos)


def test_silence_is_waited_for_as_long_as_is_said_and_no_longer(server: PosServer) -> None:
    server.faults.set([Fault("silent")])
    with Pos(httpx.URL(server.url), timeouts=Timeouts(connect=20, read=0.05, whole=20)) as pos:
        with pytest.raises(Unavailable, match=WHERE + "ReadTimeout, "):
            got(pos)
        assert got(pos).changes == 10


def test_an_answer_that_drips_in_is_ended_as_a_whole(server: PosServer) -> None:
    server.faults.set([Fault("drip")])
    with Pos(httpx.URL(server.url), timeouts=Timeouts(connect=20, read=20, whole=0.15)) as pos:
        with pytest.raises(Unavailable, match=WHERE + r"no whole answer within 0\.15 s$"):
            got(pos)
        assert got(pos).changes == 10


def test_a_head_that_never_ends_is_ended_as_a_whole() -> None:
    def drip(client: socket.socket, request: bytes) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        client.settimeout(0.01)
        left = False
        while not left:
            try:
                left = client.recv(1) == b""
            except TimeoutError:
                client.sendall(b".")

    with (
        once(drip) as url,
        Pos(url, timeouts=Timeouts(connect=20, read=20, whole=0.1)) as pos,
        pytest.raises(Unavailable, match=r"no whole answer within 0\.1 s$"),
    ):
        got(pos)


def test_a_host_that_does_not_take_the_connection_is_a_failure_of_the_moment() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = httpx.URL(f"http://127.0.0.1:{listener.getsockname()[1]}")
    with Pos(url, timeouts=PATIENT) as pos, pytest.raises(Unavailable, match="ConnectError, "):
        got(pos)


def test_what_is_no_http_is_a_failure_of_the_moment() -> None:
    def greet(client: socket.socket, request: bytes) -> None:
        client.sendall(b"220 mail.example ESMTP\r\n")

    with (
        once(greet) as url,
        Pos(url, timeouts=PATIENT) as pos,
        pytest.raises(Unavailable, match="RemoteProtocolError, "),
    ):
        got(pos)


def test_an_answer_without_a_length_that_was_cut_off_is_no_page() -> None:
    def half(client: socket.socket, request: bytes) -> None:
        client.sendall(b'HTTP/1.0 200 OK\r\n\r\n{"restaurant": 1, "changes": [{"item"')

    with once(half) as url, Pos(url, timeouts=PATIENT) as pos, pytest.raises(Unavailable, match="no JSON"):
        got(pos)


def test_what_shows_who_is_asking_goes_with_the_request() -> None:
    class Token(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
            request.headers["authorization"] = "Bearer of-today"
            yield request

    seen = []

    def note(client: socket.socket, request: bytes) -> None:
        seen.append(request.decode().splitlines())
        client.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    with once(note) as url, Pos(url, timeouts=PATIENT, auth=Token()) as pos, pytest.raises(Refused, match="401"):
        pos.stock(1, after="c1", etag='"e"')
    [lines] = seen
    assert lines[0] == "GET /v1/restaurants/1/stock?after=c1 HTTP/1.1"
    assert {"authorization: Bearer of-today", 'if-none-match: "e"'} <= {
        f"{name.lower()}: {value}" for name, _, value in (line.partition(": ") for line in lines[1:])
    }
