"""The rows of a query as Arrow tables of a row group's size, a few thousand rows in Python's hands at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

from handlers.jobs.export.money import MONEY, amounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    import psycopg

    from handlers.jobs.export.tables import Table

# What one fetch brings. Python's objects of a row take some ten times the room that Arrow's values do.
FETCHED = 2_000
# Rows. Parquet is read a little faster in larger groups, but each is in memory as a whole, and again as it is encoded.
ROW_GROUP = 26_000


def read(connection: psycopg.Connection, table: Table, since: datetime, until: datetime) -> Iterator[Any]:
    """Arrow tables of ROW_GROUP rows, the last of fewer. To be called in a transaction.

    By a cursor and not by COPY: a fetch is read to its end before the bucket keeps us waiting. A stream that we leave
    unread for longer than the server's tcp_user_timeout would be cut off.
    """
    held: list[Any] = []
    with connection.cursor(name=f"export_{table.name}") as cursor:
        cursor.execute(table.query, {"since": since, "until": until}, binary=True)
        while rows := cursor.fetchmany(FETCHED):
            held.append(batch_of(rows, table))
            if len(held) * FETCHED >= ROW_GROUP:
                yield pa.Table.from_batches(held)
                held = []
    if held:
        yield pa.Table.from_batches(held)


def batch_of(rows: Sequence[tuple[Any, ...]], table: Table) -> Any:
    """Rows of the table's query as a record batch of its schema."""
    raw = dict(zip((name for name, _ in table.columns), zip(*rows, strict=True), strict=True))
    currencies = pa.array(raw["currency"], pa.string())
    arrays = [
        amounts(pa.array(raw[name], pa.int64()), currencies) if kind == MONEY else pa.array(raw[name], kind)
        for name, kind in table.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)
