"""The POS's HTTP API: one method per request, each one exchange and no more; see again.py for retries.

with Pos(base_url()) as pos:
    page = pos.stock(7, after=cursor, etag=etag)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import httpx

from handlers.pos.address import is_loopback
from handlers.pos.errors import CursorExpired, InvalidAnswer, Refused, Unavailable
from handlers.pos.page import StockPage, parse_page
from handlers.pos.retry_after import retry_after
from handlers.pos.time_limit import TimeLimit

LARGEST_ANSWER = 1 << 20  # bytes: some 20,000 changes, a hundred times a page
# Statuses that pass: request timeout, too early, too many requests; 5xx are added.
PASSING = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: until connected, between two bytes, and from the request to the answer's last byte."""

    connect: float = 3.0
    read: float = 10.0
    whole: float = 20.0


class Pos:
    """A connection to the POS; use as a context manager, in one thread."""

    def __init__(self, base: httpx.URL, *, timeouts: Timeouts = Timeouts(), auth: httpx.Auth | None = None) -> None:
        """Nothing is opened yet.

        auth: what shows the POS who is asking. It is asked at each request, so it can fetch a token from where secrets
        are kept, hold it while it is valid and answer a 401 with a new one (see "Custom authentication schemes" in
        HTTPX's guide). The POS of `make run` lets in everybody.
        """
        local = is_loopback(base)
        self._base = base
        self._limit = TimeLimit(timeouts.whole)
        self._whole = timeouts.whole
        self._client = httpx.Client(
            base_url=base,
            auth=auth,
            timeout=httpx.Timeout(timeouts.read, connect=timeouts.connect),
            limits=httpx.Limits(max_connections=1),
            follow_redirects=False,  # what we may call is what was declared, and no other host gets to see the token
            trust_env=not local,  # a company's proxy is on the way to others, never to this machine
            verify=base.scheme == "https",
            headers={
                "accept": "application/json",
                # Unpacked, a small answer may be a huge one. A page is small.
                "accept-encoding": "identity",
                "user-agent": "shiftlock-inventory/1",
            },
        )

    def stock(self, restaurant: int, *, after: str | None, etag: str | None) -> StockPage | None:
        """The changes of a restaurant's stock after a cursor, or from the beginning; None when nothing has changed.

        etag: that of an earlier answer to the very same request. Raises Refused, InvalidAnswer, CursorExpired when
        there was a cursor, and Unavailable.
        """
        where = f"POS {self._base}, stock of restaurant {restaurant}"
        path = f"v1/restaurants/{restaurant}/stock"
        with (
            self._exchange(where),
            self._client.stream(
                "GET",
                path,
                params={} if after is None else {"after": after},
                headers={} if etag is None else {"if-none-match": etag},
                extensions={"trace": self._limit.trace},
            ) as response,
        ):
            if response.status_code == 304 and etag is not None:
                return None
            if response.status_code == 410 and after is not None:
                raise CursorExpired(f"{where}: 410, cursor {after!r} is no longer known")
            if response.status_code != 200:
                raise _problem(response, where)
            body = _read(response, where)
            return parse_page(body, where=where, restaurant=restaurant, after=after, etag=response.headers.get("etag"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()
        self._limit.close()

    @contextmanager
    def _exchange(self, where: str) -> Iterator[None]:
        """Translate what httpx raises, once, and keep the whole in its time."""
        with self._limit.running():
            try:
                yield
            except httpx.TransportError as error:
                if self._limit.passed:
                    raise Unavailable(f"{where}: no whole answer within {self._whole:g} s") from error
                told = str(error).strip().partition("\n")[0] or "no reason given"
                raise Unavailable(f"{where}: {type(error).__name__}, {told}") from error


def _problem(response: httpx.Response, where: str) -> Refused | InvalidAnswer | Unavailable:
    status = response.status_code
    said = f"{status} {response.reason_phrase[:60]}".rstrip()
    if status in PASSING or status >= 500:
        headers = response.headers
        asked = retry_after(headers.get("retry-after"), date=headers.get("date"), now=datetime.now(UTC))
        return Unavailable(f"{where}: {said}", asked)
    if status == 304 or status < 300:
        return InvalidAnswer(f"{where}: status is {status}: allowed is 200, or 304 to a request with an ETag")
    if status < 400:
        return Refused(f"{where}: {status}, it is elsewhere; redirects are not followed, so set the address right")
    return Refused(f"{where}: {said}")


def _read(response: httpx.Response, where: str) -> bytes:
    encoding = response.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise InvalidAnswer(f"{where}: content-encoding is {encoding[:60]!r}: allowed is identity")
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise InvalidAnswer(f"{where}: the answer is longer than {LARGEST_ANSWER} bytes, the most that is allowed")
    return bytes(body)
