"""One connection to the POS: reads requests, answers them, and does wrong what it was told to."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from socket import SO_LINGER, SOL_SOCKET
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from ops.local.pos.faults import BadFault, Fault, parse_faults

if TYPE_CHECKING:
    from ops.local.pos.server import PosServer

STOCK = re.compile(r"/v1/restaurants/([1-9][0-9]{0,8})/stock")
CURSOR = re.compile(r"c([0-9a-f]{1,15})")
NO_LINGER = struct.pack("ii", 1, 0)  # close with a reset (socket(7), SO_LINGER)
TOO_LONG = 8 << 20  # bytes
SECONDS_BETWEEN_DRIPS = 0.02
LONGEST_ORDER = 1 << 16  # bytes of an admin's request


class Handler(BaseHTTPRequestHandler):
    """Answers in HTTP/1.1, and keeps the connection."""

    server: PosServer
    protocol_version = "HTTP/1.1"
    server_version = "pos"
    sys_version = ""
    disable_nagle_algorithm = True
    timeout = 60.0

    def do_GET(self) -> None:
        """A page of stock, or what was asked for lately."""
        parts = urlsplit(self.path)
        if found := STOCK.fullmatch(parts.path):
            given = parse_qs(parts.query, keep_blank_values=True).get("after")
            self._stock(int(found[1]), given[0] if given else None)
        elif parts.path == "/admin/requests":
            seen = [
                {"restaurant": each.restaurant, "after": each.after, "etag": each.etag, "status": each.status}
                for each in list(self.server.requests)
            ]
            self._answer(200, seen)
        else:
            self._answer(404, {"error": "no such path"})

    def do_PUT(self) -> None:
        """The faults from now on."""
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 9 and int(length) <= LONGEST_ORDER):
            self.close_connection = True
            return self._answer(411, {"error": f"say the length: at most {LONGEST_ORDER} bytes"})
        body = self.rfile.read(int(length))
        if self.path != "/admin/faults":
            return self._answer(404, {"error": "no such path"})
        try:
            faults = parse_faults(json.loads(body))
        except (BadFault, ValueError) as error:
            return self._answer(400, {"error": str(error)})
        self.server.faults.set(faults)
        return self._answer(200, {"faults": len(faults)})

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the requests are remembered instead."""

    def _stock(self, restaurant: int, after: str | None) -> None:
        fault = self.server.faults.strike(restaurant)
        if fault is not None and fault.kind == "status":
            return self._stock_answer(restaurant, after, fault.status, {"error": "as ordered"}, fault.headers)
        if restaurant not in self.server.items:
            return self._stock_answer(restaurant, after, 404, {"error": f"restaurant {restaurant} is not known"})
        cursor = CURSOR.fullmatch(after) if after is not None else None
        if after is not None and cursor is None:
            return self._stock_answer(restaurant, after, 400, {"error": "after is no cursor"})
        page = self._page(restaurant, after, int(cursor[1], 16) if cursor else -1)
        etag = f'"{sha256(json.dumps(page).encode()).hexdigest()[:20]}"'
        if fault is not None:
            return self._go_wrong(fault, restaurant, after, page, etag)
        if self.headers.get("if-none-match") == etag:
            return self._stock_answer(restaurant, after, 304, None, {"ETag": etag})
        return self._stock_answer(restaurant, after, 200, page, {"ETag": etag})

    def _page(self, restaurant: int, after: str | None, behind: int) -> dict[str, object]:
        coming = [change for change in self.server.changes(restaurant) if change.sequence > behind]
        listed = coming[: self.server.page]
        return {
            "restaurant": restaurant,
            "changes": [{"item": change.item, "on_hand": change.on_hand} for change in listed],
            "cursor": f"c{listed[-1].sequence:x}" if listed else after,
            "more": len(coming) > len(listed),
        }

    def _go_wrong(
        self, fault: Fault, restaurant: int, after: str | None, page: Mapping[str, object], etag: str
    ) -> None:
        whole = json.dumps(page).encode()
        half = whole[: len(whole) // 2]
        if fault.kind == "body":
            self._stock_answer(restaurant, after, 200, fault.body.encode(), {"ETag": etag, **fault.headers})
        elif fault.kind == "broken":
            self._stock_answer(restaurant, after, 200, half, {"ETag": etag})
        elif fault.kind == "long":
            self._stock_answer(restaurant, after, 200, whole + b" " * TOO_LONG, {"ETag": etag})
        else:
            self.close_connection = True
            self._note(restaurant, after, None)
            if fault.kind == "silent":
                self.connection.recv(1)
            elif fault.kind == "reset":
                self.connection.setsockopt(SOL_SOCKET, SO_LINGER, NO_LINGER)
                self.connection.close()
            else:
                self._head(200, len(whole), {"ETag": etag})
                self.wfile.write(half)
                for byte in whole[len(half) :] if fault.kind == "drip" else b"":
                    self.server.ended.wait(SECONDS_BETWEEN_DRIPS)
                    self.wfile.write(bytes([byte]))

    def _stock_answer(
        self, restaurant: int, after: str | None, status: int, body: object, headers: Mapping[str, str] | None = None
    ) -> None:
        self._note(restaurant, after, status)
        self._answer(status, body, headers)

    def _note(self, restaurant: int, after: str | None, status: int | None) -> None:
        self.server.note(restaurant, after, self.headers.get("if-none-match"), status)

    def _answer(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        sent = body if isinstance(body, bytes) else b"" if status == 304 else json.dumps(body).encode()
        self._head(status, len(sent), headers or {})
        self.wfile.write(sent)

    def _head(self, status: int, length: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        if status != 304:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
