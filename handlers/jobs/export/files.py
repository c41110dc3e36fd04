"""One table as two files, Parquet and gzipped CSV, written row group by row group."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from handlers.jobs.export.sink import Sink
from handlers.jobs.export.tables import TIME
from handlers.jobs.export.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from io import RawIOBase

    from handlers.jobs.export.tables import Table

PARQUET = "application/vnd.apache.parquet"
# Not text/csv with an encoding: a client would unpack that unasked, and find other bytes than the manifest's.
CSV = "application/gzip"
# A quarter of the time of the default 9, and 5 % more bytes than 6 makes.
LEVEL = 4


@dataclass(frozen=True, slots=True)
class File:
    """A file that was written. size: bytes. sha256: hex digits."""

    key: str
    table: str
    format: str
    content_type: str
    size: int
    sha256: str
    rows: int


def write(
    table: Table, batches: Iterable[Any], folder: str, create: Callable[[str, str], RawIOBase]
) -> tuple[tuple[File, File], Totals]:
    """Write `batches`, Arrow tables, to both files in `folder`; say what they are and hold.

    create: gives the file of a key and a content type; to close it is its caller's part.
    """
    totals = Totals()
    keys = f"{folder}/{table.name}.parquet", f"{folder}/{table.name}.csv.gz"
    sinks = Sink(create(keys[0], PARQUET)), Sink(create(keys[1], CSV))
    with _parquet(sinks[0], table) as add_to_parquet, _csv(sinks[1], table) as add_to_csv:
        for batch in batches:
            totals.add(batch, table)
            add_to_parquet(batch)
            add_to_csv(batch)
    parquet, csv = (
        File(key, table.name, kind, content_type, sink.size, sink.sha256, totals.rows)
        for key, kind, content_type, sink in zip(keys, ("parquet", "csv"), (PARQUET, CSV), sinks, strict=True)
    )
    return (parquet, csv), totals


@contextmanager
def _parquet(sink: Sink, table: Table) -> Iterator[Callable[[Any], None]]:
    writer = pq.ParquetWriter(sink, table.schema, compression="zstd")

    def add(batch: Any) -> None:
        writer.write_table(batch, row_group_size=batch.num_rows)

    with _dropped_on_failure(sink):
        yield add
        writer.close()


@contextmanager
def _csv(sink: Sink, table: Table) -> Iterator[Callable[[Any], None]]:
    # Without a time and a name in it, the same rows are the same bytes.
    packed = gzip.GzipFile(filename="", fileobj=sink, mode="wb", compresslevel=LEVEL, mtime=0)

    def add(batch: Any) -> None:
        # In the portions that were fetched: as text a row group would be the largest thing in memory.
        for portion in batch.to_batches():
            packed.write(_lines(portion, header=False))

    with _dropped_on_failure(sink):
        packed.write(_lines(table.schema.empty_table(), header=True))
        yield add
        packed.close()


@contextmanager
def _dropped_on_failure(sink: Sink) -> Iterator[None]:
    try:
        yield
    except BaseException:  # an interruption, too: half a file must never be completed
        sink.drop()
        raise


def _lines(batch: Any, *, header: bool) -> Any:
    """CSV as RFC 4180 has it: a text always in quotes, so that an empty one is not null, which is nothing at all."""
    columns = [_iso(column) if column.type == TIME else column for column in batch.columns]
    plain = pa.table(columns, names=batch.schema.names)
    out = pa.BufferOutputStream()
    pyarrow.csv.write_csv(plain, out, pyarrow.csv.WriteOptions(include_header=header))
    return out.getvalue()


def _iso(times: Any) -> Any:
    """Times as text such as 2026-11-29T03:30:00.000000Z.

    By way of times without a zone: for UTC too Arrow looks into the system's time zones, which a slim image has not.
    """
    text = times.cast(pa.timestamp("us")).cast(pa.string())
    return pc.binary_join_element_wise(pc.replace_substring(text, " ", "T"), "Z", "")
