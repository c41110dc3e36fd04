"""What a message may ask for."""

from typing import Any

import pytest

from handlers.jobs.images.request import USUAL_WIDTHS, Request, request
from handlers.jobs.images.unusable import Unusable


def test_a_source_alone_is_made_in_the_usual_widths() -> None:
    assert request({"source": "uploads/menu/42.jpg"}) == Request("uploads/menu/42.jpg", USUAL_WIDTHS)


def test_widths_are_each_made_once_from_narrow_to_wide() -> None:
    assert request({"source": "uploads/a", "widths": [960, 1, 4096, 960]}).widths == (1, 960, 4096)


@pytest.mark.parametrize("source", ["uploads/قائمة طعام.jpg", "uploads/a..b/.hidden", "uploads/" + "a" * 1016])
def test_any_key_of_a_file_in_the_folder_is_a_source(source: str) -> None:
    assert request({"source": source}).source == source


@pytest.mark.parametrize(
    "source",
    [
        None,
        42,
        "",
        "uploads/",
        "uploads",
        "exports/a.jpg",
        "/uploads/a.jpg",
        "uploads/../exports/a.jpg",
        "uploads/./a.jpg",
        "uploads//a.jpg",
        "uploads/a/",
        "uploads/a\nb.jpg",
        "uploads/\ud800.jpg",
        "uploads/" + "a" * 1017,
        "uploads/" + "ä" * 509,
    ],
)
def test_what_is_no_key_of_a_file_in_the_folder_is_refused(source: object) -> None:
    with pytest.raises(
        Unusable, match=r"^source is .*: allowed is the key of a file below uploads/, such as"
    ) as raised:
        request({"source": source})
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("widths", [None, 320, "320", [], {}, list(range(1, 12))])
def test_what_is_no_short_list_is_refused(widths: object) -> None:
    with pytest.raises(Unusable, match=r"^widths is .*: allowed is a list of 1 to 10 whole numbers from 1 to 4096"):
        request({"source": "uploads/a", "widths": widths})


@pytest.mark.parametrize("width", [0, -1, 4097, 10**30, 320.0, "320", None, True, [320]])
def test_what_is_no_width_is_refused(width: object) -> None:
    with pytest.raises(Unusable, match=r"^widths has .*: allowed is a list of 1 to 10 whole numbers from 1 to 4096"):
        request({"source": "uploads/a", "widths": [320, width]})


@pytest.mark.parametrize("payload", [{"width": [320]}, {"quality": 3, "width": [320]}])
def test_a_field_that_means_nothing_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(Unusable, match=r"^the payload has .*width.*: allowed are source and widths"):
        request({"source": "uploads/a", **payload})
