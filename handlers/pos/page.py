"""One page of a restaurant's changes of stock, out of the bytes of an answer.

    {"restaurant": 7, "changes": [{"item": 701, "on_hand": 12}], "cursor": "c2f1", "more": false}

Changes are in the order they happened; `on_hand` is the count after it, in portions. `cursor` stands behind the last
change, and `more` says whether there were further ones when this page was made. Other fields may be added at any time.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handlers.pos.errors import InvalidAnswer, Unavailable

LARGEST_INTEGER = 2**31 - 1  # of a column
LONGEST_CURSOR = 200


@dataclass(frozen=True, slots=True)
class StockPage:
    """on_hand: the newest count of the page for each item that it names. changes: how many it lists.

    cursor: where the next page begins; None when there has never been a change. etag: of this answer to this request.
    """

    on_hand: Mapping[int, int]
    changes: int
    cursor: str | None
    more: bool
    etag: str | None = None


def parse_page(body: bytes, *, where: str, restaurant: int, after: str | None, etag: str | None) -> StockPage:
    """The page that an answer holds to a request for what came after a cursor.

    Raises InvalidAnswer with `where` and the field, and Unavailable for bytes that are no JSON: an answer that was cut
    off on its way looks like that.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unavailable(f"{where}: {len(body)} bytes that are no JSON") from error
    check = _Check(where)
    page = check.members("the answer", answer)
    if check.whole("restaurant", page.get("restaurant"), 1) != restaurant:
        raise check.invalid("restaurant", page["restaurant"], f"{restaurant}, which was asked for")
    listed = page.get("changes")
    if not isinstance(listed, list):
        raise check.invalid("changes", listed, "a list")
    on_hand = {}
    for place, each in enumerate(listed):
        change = check.members(f"changes[{place}]", each)
        item = check.whole(f"changes[{place}].item", change.get("item"), 1)
        on_hand[item] = check.whole(f"changes[{place}].on_hand", change.get("on_hand"), 0)
    cursor, more = page.get("cursor"), page.get("more")
    if not (_is_token(cursor) or (cursor is None and not listed and after is None)):
        raise check.invalid("cursor", cursor, f"1 to {LONGEST_CURSOR} printable ASCII characters")
    if not isinstance(more, bool):
        raise check.invalid("more", more, "true or false")
    if cursor == after and (listed or more):
        raise check.invalid("cursor", cursor, "another one than was asked for, behind the changes that are listed")
    return StockPage(on_hand, len(listed), cursor, more, etag if _is_token(etag) else None)


def _is_token(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= LONGEST_CURSOR and value.isascii() and value.isprintable()


@dataclass(frozen=True, slots=True)
class _Check:
    where: str

    def members(self, field: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.invalid(field, value, "an object")
        return value

    def whole(self, field: str, value: object, least: int) -> int:
        # JSON's true is an int to Python.
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST_INTEGER:
            raise self.invalid(field, value, f"a whole number from {least} to {LARGEST_INTEGER}")
        return value

    def invalid(self, field: str, value: object, allowed: str) -> InvalidAnswer:
        shown = json.dumps(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return InvalidAnswer(f"{self.where}: {field} is {shown}: allowed is {allowed}")
