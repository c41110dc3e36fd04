"""The parts of the export alone: money, and files whose writing fails."""

import gc
import gzip
import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from handlers.jobs.export.files import write
from handlers.jobs.export.money import MONEY, amounts
from handlers.jobs.export.tables import ORDER_ITEMS

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("minor", "currency", "amount"),
    [
        (1234, "SAR", "12.340"),
        (1234, "KWD", "1.234"),
        (1234, "JPY", "1234.000"),
        (0, "GBP", "0.000"),
        (-5, "GBP", "-0.050"),
        (LARGEST, "JPY", f"{LARGEST}.000"),
        (LARGEST, "KWD", "9223372036854775.807"),
    ],
)
def test_minor_units_become_exact_amounts_of_their_currency(minor: int, currency: str, amount: str) -> None:
    array = amounts(pa.array([minor], pa.int64()), pa.array([currency]))
    assert (array.type, str(array[0])) == (MONEY, amount)


def test_currencies_are_not_mixed_up_and_null_stays_null() -> None:
    array = amounts(pa.array([1, None, 2, 3], pa.int64()), pa.array(["KWD", "KWD", "SAR", "KWD"]))
    assert array.to_pylist() == [Decimal("0.001"), None, Decimal("0.020"), Decimal("0.003")]


class Full(io.RawIOBase):
    """A place that takes so many bytes and no more; then each write fails, as one to a lost upload does."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.refused = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        size = len(memoryview(data).cast("B"))
        if size > self.room:
            self.refused += 1
            raise OSError("no room")
        self.room -= size
        return size


def items(rows: int) -> Any:
    """Items of many orders."""
    arrays = [
        pa.array(["x"] * rows) if kind == pa.string() else pa.array(range(rows), pa.int64()).cast(kind)
        for _, kind in ORDER_ITEMS.columns
    ]
    return pa.Table.from_arrays(arrays, schema=ORDER_ITEMS.schema)


@pytest.mark.parametrize("room", [0, 100, 3000])
def test_a_write_that_fails_is_the_error_and_nothing_is_written_after_it(room: int) -> None:
    places: list[Full] = []

    def create(key: str, content_type: str) -> Full:
        places.append(Full(room))
        return places[-1]

    with pytest.raises(OSError, match=r"^no room$"):
        write(ORDER_ITEMS, iter([items(2000)] * 3), "exports/x", create)
    gc.collect()  # the formats write their ends when they are forgotten
    assert sum(place.refused for place in places) == 1


def test_an_error_in_reading_is_what_is_raised_and_leaves_the_files_without_an_end() -> None:
    places: list[io.BytesIO] = []

    def create(key: str, content_type: str) -> Any:
        places.append(io.BytesIO())
        return places[-1]

    def broken() -> Iterator[Any]:
        yield items(2000)
        raise ConnectionError("the server has gone")

    with pytest.raises(ConnectionError, match=r"^the server has gone$"):
        write(ORDER_ITEMS, broken(), "exports/x", create)
    gc.collect()
    parquet, packed = (place.getvalue() for place in places)
    assert parquet.startswith(b"PAR1")
    assert not parquet.endswith(b"PAR1")
    with pytest.raises(EOFError):
        gzip.decompress(packed)
