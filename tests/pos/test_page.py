"""Which answers are pages, and what is said of those that are none."""

import json
from typing import Any

import pytest

from handlers.pos.errors import InvalidAnswer, Unavailable
from handlers.pos.page import StockPage, parse_page

GOOD: dict[str, Any] = {
    "restaurant": 7,
    "changes": [{"item": 701, "on_hand": 12}, {"item": 702, "on_hand": 0}, {"item": 701, "on_hand": 11}],
    "cursor": "c5",
    "more": True,
}


def parsed(body: bytes | dict[str, Any], after: str | None = "c2", etag: str | None = '"a"') -> StockPage:
    return parse_page(
        body if isinstance(body, bytes) else json.dumps(body).encode(),
        where="POS",
        restaurant=7,
        after=after,
        etag=etag,
    )


def test_the_last_count_of_an_item_is_the_one_that_holds() -> None:
    assert parsed(GOOD) == StockPage({701: 11, 702: 0}, changes=3, cursor="c5", more=True, etag='"a"')


def test_fields_that_are_new_to_us_are_left_alone() -> None:
    assert parsed({**GOOD, "changes": [{"item": 1, "on_hand": 2, "unit": "kg"}], "took_ms": 3}).on_hand == {1: 2}


def test_no_change_at_all_needs_no_cursor() -> None:
    nothing = {"restaurant": 7, "changes": [], "cursor": None, "more": False}
    assert parsed(nothing, after=None) == StockPage({}, changes=0, cursor=None, more=False, etag='"a"')
    with pytest.raises(InvalidAnswer, match=r"^POS: cursor is null"):
        parsed(nothing)


@pytest.mark.parametrize("etag", [None, "", "x" * 201, '"ä"', '"a\x00"'])
def test_an_etag_that_cannot_be_sent_back_is_not_kept(etag: str | None) -> None:
    assert parsed(GOOD, etag=etag).etag is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"restaurant": 8}, "restaurant is 8: allowed is 7, which was asked for"),
        ({"restaurant": "7"}, 'restaurant is "7": allowed is a whole number'),
        ({"restaurant": True}, "restaurant is true: allowed is a whole number"),
        ({"changes": None}, "changes is null: allowed is a list"),
        ({"changes": {"0": 1}}, 'changes is {"0": 1}: allowed is a list'),
        ({"changes": [7]}, "changes[0] is 7: allowed is an object"),
        ({"changes": [{"item": 1, "on_hand": 1}, {"on_hand": 1}]}, "changes[1].item is null: allowed is a whole"),
        ({"changes": [{"item": 0, "on_hand": 1}]}, "changes[0].item is 0: allowed is a whole number from 1"),
        ({"changes": [{"item": 1, "on_hand": -1}]}, "changes[0].on_hand is -1: allowed is a whole number from 0"),
        ({"changes": [{"item": 1, "on_hand": 1.5}]}, "changes[0].on_hand is 1.5: allowed is a whole number"),
        ({"changes": [{"item": 1, "on_hand": 2**31}]}, "changes[0].on_hand is 2147483648: allowed is a whole"),
        ({"changes": [{"item": 1, "on_hand": float("nan")}]}, "changes[0].on_hand is NaN: allowed is a whole"),
        ({"cursor": 5}, "cursor is 5: allowed is 1 to 200 printable ASCII characters"),
        ({"cursor": ""}, 'cursor is "": allowed is 1 to 200'),
        ({"cursor": "a\x00b"}, 'cursor is "a\\u0000b": allowed is 1 to 200'),
        ({"cursor": "x" * 201}, 'cursor is "' + "x" * 56 + "...: allowed is 1 to 200"),
        ({"cursor": "c2"}, 'cursor is "c2": allowed is another one'),
        ({"cursor": "c2", "changes": []}, 'cursor is "c2": allowed is another one'),
        ({"more": "no"}, 'more is "no": allowed is true or false'),
    ],
)
def test_another_shape_is_refused_in_one_line_that_names_the_field(change: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        parsed({**GOOD, **change})
    assert str(refused.value).startswith(f"POS: {told}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("field", ["restaurant", "changes", "cursor", "more"])
def test_a_missing_field_is_named(field: str) -> None:
    with pytest.raises(InvalidAnswer, match=f"^POS: {field} is null"):
        parsed({name: value for name, value in GOOD.items() if name != field})


@pytest.mark.parametrize("body", [b"", b'{"restaurant": 7, "cha', b"\xff\xfe", b"[" * 100_000, b"9" * 5000])
def test_bytes_that_are_no_json_may_be_better_next_time(body: bytes) -> None:
    with pytest.raises(Unavailable, match=rf"^POS: {len(body)} bytes that are no JSON$"):
        parsed(body)


def test_json_that_is_no_object_is_named_whole() -> None:
    with pytest.raises(InvalidAnswer, match=r"^POS: the answer is \[\]: allowed is an object"):
        parsed(b"[]")
