"""Bring the stock of one restaurant up to what its POS counts.

The POS lists changes after a cursor, in pages. A page and the cursor behind it are stored in one transaction, so
wherever a run ends, the next one goes on behind the last page that was stored. The payload is {"restaurant": id}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from handlers.pos.address import base_url
from handlers.pos.again import again
from handlers.pos.client import Pos
from handlers.pos.errors import BadAddress, CursorExpired, GaveUp, Refused
from handlers.runtime.retry import Fatal, TryLater

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

    from handlers.pos.page import StockPage
    from handlers.runtime.context import Context

BEGIN = """
insert into platform.pos_sync (restaurant_id) select id from platform.restaurants where id = %(restaurant)s
on conflict do nothing
"""
STANDING = "select revision, cursor, etag from platform.pos_sync where restaurant_id = %(restaurant)s"

# Compare-and-swap: an answer is worth only as much as the cursor it was asked for with. It also locks the row, so of
# two pulls of one restaurant the second waits here and then finds that its answer has become an old one.
ADVANCE = """
update platform.pos_sync set
    revision = nextval('platform.pos_revision'), cursor = %(cursor)s, etag = %(etag)s,
    changes = changes + %(changes)s,
    synced_at = case when %(complete)s then clock_timestamp() else synced_at end
where restaurant_id = %(restaurant)s and revision = %(revision)s
"""

# Answers with the items that the platform does not sell there.
STORE = """
with given as (
    select item, on_hand from unnest(%(items)s::integer[], %(counts)s::integer[]) as given (item, on_hand)
), stored as (
    update platform.stock set on_hand = given.on_hand from given
    where stock.id = item and restaurant_id = %(restaurant)s and stock.on_hand <> given.on_hand
)
select item from given
where not exists (select from platform.stock where stock.id = item and restaurant_id = %(restaurant)s)
"""


class Ask(Protocol):
    """Gets the changes after a cursor; None when the answer is the one that has this ETag. Raises PosError."""

    def __call__(self, after: str | None, etag: str | None) -> StockPage | None: ...


def run(context: Context) -> Mapping[str, object]:
    """Take over what has changed; say how much that was.

    Raises Fatal for what only a person can set right, TryLater where the POS has said when, and PosError.
    """
    restaurant = _restaurant(context.payload)

    def wait(seconds: float) -> None:
        context.stop.wait(seconds)
        context.stop_if_asked()

    try:
        with Pos(base_url()) as pos:
            return pull(
                context,
                restaurant,
                lambda after, etag: again(lambda: pos.stock(restaurant, after=after, etag=etag), wait),
            )
    except (BadAddress, Refused) as error:
        raise Fatal(str(error)) from error
    except GaveUp as error:
        if error.asked_to_wait is None:
            raise
        raise TryLater(str(error), error.asked_to_wait) from error


def pull(context: Context, restaurant: int, ask: Ask) -> Mapping[str, object]:
    """Take over page by page, until there is no more. Raises Fatal for an unknown restaurant, and what `ask` does."""
    context.connection.execute(BEGIN, {"restaurant": restaurant})
    pages = changes = 0
    unknown: set[int] = set()
    began_anew = complete = False
    while not complete:
        context.stop_if_asked()
        at = _standing(context.connection, restaurant)
        move = _next(ask, at, began_anew=began_anew)
        not_ours = _store(context, restaurant, at, move)
        if not_ours is None:
            continue
        complete, began_anew = move.complete, began_anew or move.anew
        if move.anew:
            context.log.warning("the POS has forgotten the cursor: its counts are read from the beginning")
        if move.page is not None:
            pages, changes, unknown = pages + 1, changes + move.page.changes, unknown | not_ours
            context.progress(pages)
    if unknown:
        context.log.warning("the POS counts items that are not in the stock", extra={"items": sorted(unknown)[:20]})
    return {"restaurant": restaurant, "pages": pages, "changes": changes, "unknown_items": len(unknown)}


@dataclass(frozen=True, slots=True)
class _Standing:
    """How far the restaurant is: the request to make next, and what identifies this state of it."""

    revision: int
    cursor: str | None
    etag: str | None


@dataclass(frozen=True, slots=True)
class _Move:
    """The request to make after this one. complete: there is nothing more for now. anew: it begins at the beginning."""

    cursor: str | None
    etag: str | None
    complete: bool = False
    anew: bool = False
    page: StockPage | None = None


class _Overtaken(Exception):
    """Another pull of this restaurant has stored an answer since ours was asked for."""


def _next(ask: Ask, at: _Standing, *, began_anew: bool) -> _Move:
    try:
        page = ask(at.cursor, at.etag)
    except CursorExpired:
        if began_anew:
            raise
        return _Move(None, None, anew=True)
    if page is None:
        return _Move(at.cursor, at.etag, complete=True)
    # An ETag belongs to one request: only while the cursor stands still is the next one the same.
    etag = page.etag if page.cursor == at.cursor else None
    return _Move(page.cursor, etag, complete=not page.more, page=page)


def _store(context: Context, restaurant: int, at: _Standing, move: _Move) -> set[int] | None:
    """Store an answer; the items in it that are unknown. None, and nothing is stored, when another pull was faster."""
    page = move.page
    facts = {
        "restaurant": restaurant,
        "revision": at.revision,
        "cursor": move.cursor,
        "etag": move.etag,
        "complete": move.complete,
        "changes": 0 if page is None else page.changes,
        "items": [] if page is None else list(page.on_hand),
        "counts": [] if page is None else list(page.on_hand.values()),
    }
    try:
        with context.step(f"stock:{restaurant}:{at.revision}") as tx:
            if tx is None or tx.execute(ADVANCE, facts).rowcount != 1:
                raise _Overtaken
            return {item for (item,) in tx.execute(STORE, facts)}
    except _Overtaken:
        return None


def _standing(connection: psycopg.Connection, restaurant: int) -> _Standing:
    row = connection.execute(STANDING, {"restaurant": restaurant}).fetchone()
    if row is None:
        raise Fatal(f"restaurant {restaurant} is not in platform.restaurants: nobody can sync its stock")
    return _Standing(*row)


def _restaurant(payload: Mapping[str, Any]) -> int:
    given = payload.get("restaurant")
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given < 2**31:
        raise Fatal(f"payload.restaurant is {given!r}: allowed is the id of a restaurant, such as 7")
    return given
