"""The POS's HTTP API on a free port of 127.0.0.1.

    GET  /v1/restaurants/ID/stock?after=CURSOR   a page of changes, with ETag; 304 to If-None-Match, 404 when unknown
    PUT  /admin/faults                           what to do wrong from now on; see faults.py. [] heals it
    GET  /admin/requests                         the last requests: restaurant, cursor, If-None-Match, status

Everybody on this machine is let in, and nobody else can be.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from socket import SHUT_RDWR, create_connection, socket
from threading import Event, Lock, Thread
from typing import Any

from ops.local.platform.load import ORDERS_PER_DAY, RESTAURANTS, SEED
from ops.local.platform.restaurants import Dataset, make_restaurants
from ops.local.pos.counts import Change, changes
from ops.local.pos.faults import Fault, Faults
from ops.local.pos.handler import Handler

PAGE = 10  # changes
REQUESTS_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Request:
    """A request for stock and how it was answered: status is None when a fault kept it from having one."""

    restaurant: int
    after: str | None
    etag: str | None
    status: int | None


class PosServer(ThreadingHTTPServer):
    """The POS of these restaurants: their ids, and the ids of what each sells.

    clock: seconds since 1970, which all counts follow from.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        items: Mapping[int, Sequence[int]],
        *,
        seed: str = SEED,
        faults: Sequence[Fault] = (),
        clock: Callable[[], float] = time.time,
        port: int = 0,
        page: int = PAGE,
    ) -> None:
        """Listen; port 0 takes a free one. Raises OSError when the port is not free."""
        self.items, self.page = items, page
        self.faults = Faults(faults)
        self.requests: deque[Request] = deque(maxlen=REQUESTS_REMEMBERED)
        self.ended = Event()
        self._seed, self._clock = seed, clock
        self.connections = 0
        self._open: set[socket] = set()
        self._opening = Lock()
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def url(self) -> str:
        """What SHIFTLOCK_POS_URL is to be."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def changes(self, restaurant: int) -> list[Change]:
        """All changes of a restaurant up to now, oldest first. Raises KeyError."""
        return changes(self._seed, restaurant, self.items[restaurant], self._clock())

    def note(self, restaurant: int, after: str | None, etag: str | None, status: int | None) -> None:
        """Remember a request."""
        self.requests.append(Request(restaurant, after, etag, status))

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answer in threads of this process; at the end all connections are closed, however busy they are."""
        thread = Thread(target=self._serve, name="pos", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.ended.set()
            create_connection(
                ("127.0.0.1", self.server_address[1])
            ).close()  # it waits for the next one, and looks then
            thread.join()
            self.server_close()
            with self._opening:
                for connection in self._open:
                    with suppress(OSError):  # the client was faster
                        connection.shutdown(SHUT_RDWR)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Nobody is let in any more after the end."""
        return not self.ended.is_set()

    def process_request(self, request: Any, client_address: Any) -> None:
        """As the library's, and the connection is remembered until its end."""
        with self._opening:
            self._open.add(request)
            self.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """As the library's."""
        with self._opening:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may leave in the middle of an answer; nobody needs to read of it."""

    def _serve(self) -> None:
        while not self.ended.is_set():
            self.handle_request()


@contextmanager
def pos(restaurants: int = RESTAURANTS, *, seed: str = SEED, port: int = 0) -> Iterator[str]:
    """The URL of a POS for the restaurants of the platform's data, in threads of this process, until the end."""
    with PosServer(menus(restaurants, seed), seed=seed, port=port) as server, server.serving():
        yield server.url


def menus(restaurants: int, seed: str = SEED) -> dict[int, list[int]]:
    """The items of each restaurant, by id, as the platform's data has them."""
    every = make_restaurants(Dataset(seed, restaurants, ORDERS_PER_DAY))
    return {restaurant.id: [item.id for item in restaurant.menu] for restaurant in every}
