"""Tables in a pipe and on terminals of several widths."""

from io import StringIO

import pytest
from rich.console import Console

from ops.facts import Facts
from ops.table import EDGELESS, Table, status_text

NOTE = "ValueError: the order has no price, and this is said in so many words that no terminal has room for it"
TABLE = Table(
    ("id", "job", "tick", "trigger", "status", "took", "error"),
    [
        ("12", "report-aggregation", "2026-11-29T03:30Z", "rule", status_text("failed"), "12 s", NOTE),
        ("7", "billing-run", None, "manual", status_text("skipped", "overlap"), None, None),
    ],
    folds=(("trigger", "job"), ("took", "status")),
    right=frozenset({"id"}),
    note="error",
)


def shown(renderable: object, width: int) -> list[str]:
    """The lines that a terminal of this many columns gets."""
    console = Console(file=StringIO(), width=width, markup=False, highlight=False)
    console.print(renderable)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_in_a_pipe_every_row_is_one_line_with_all_of_its_text() -> None:
    assert shown(TABLE, EDGELESS) == [
        "id  job                 tick               trigger  status            took  error",
        f"12  report-aggregation  2026-11-29T03:30Z  rule     failed            12 s  {NOTE}",
        " 7  billing-run         -                  manual   skipped: overlap  -     -",
    ]


def test_a_note_without_room_beside_its_row_goes_below_it() -> None:
    assert shown(TABLE, 80) == [
        "id  job                 tick               trigger  status            took",
        "12  report-aggregation  2026-11-29T03:30Z  rule     failed            12 s",
        "    error: ValueError: the order has no price, and this is said in so many words",
        "    that no terminal has room for it",
        " 7  billing-run         -                  manual   skipped: overlap  -",
    ]


def test_columns_without_room_move_below_others_one_after_the_other() -> None:
    assert shown(TABLE, 70)[:3] == [
        "id  job                 tick               status            took",
        "    trigger",
        "12  report-aggregation  2026-11-29T03:30Z  failed            12 s",
    ]
    assert shown(TABLE, 62)[:4] == [
        "id  job                 tick               status",
        "    trigger                                took",
        "12  report-aggregation  2026-11-29T03:30Z  failed",
        "    rule                                   12 s",
    ]


@pytest.mark.parametrize("width", range(61, 240, 7))
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(width: int) -> None:
    lines = shown(TABLE, width)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).replace("error:", "error").split()
    for cells in (TABLE.titles, *TABLE.rows):
        assert {word for cell in cells for word in str(cell or "-").split()} <= set(words)


def test_a_terminal_too_narrow_for_any_form_still_gets_every_character() -> None:
    text = "".join(shown(TABLE, 20)).replace(" ", "")
    for needed in ("report-aggregation", "2026-11-29T03:30Z", "skipped:overlap"):
        assert needed in text


def test_rows_whose_first_column_is_folded_have_room_between_them() -> None:
    table = Table(("job", "schedule"), [("a" * 8, "b" * 8), ("c" * 8, "d" * 8)], folds=(("schedule", "job"),))
    assert shown(table, 10) == ["job", "schedule", "a" * 8, "b" * 8, "", "c" * 8, "d" * 8]


def test_a_fact_too_long_for_the_terminal_goes_on_below_itself() -> None:
    assert shown(Facts({"run": "12", "error": "one two three four"}), 16) == [
        "run    12",
        "error  one two",
        "       three",
        "       four",
    ]
