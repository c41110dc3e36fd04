"""Export the orders of the last seven days, with their items, to the bucket: as Parquet and as CSV.

The week is the seven UTC days that had ended at the tick, and an order belongs to the day it was placed. What became of
it is told as of the run: one of Sunday night may be delivered only after the week has ended. All is read in one
snapshot, so that orders, items and sums belong together.

The files are at exports/<date of the tick>/, under the same keys in each attempt. None of them appears before all are
written, and manifest.json, with their sizes, checksums and sums, comes last: whoever sees it sees all of them. One
that was there from an earlier run of the tick is replaced a moment after its files; till then their checksums tell.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from handlers.files.upload import SMALLEST_PART
from handlers.jobs.export.batches import read
from handlers.jobs.export.files import write
from handlers.jobs.export.manifest import CONTENT_TYPE, NAME, Manifest
from handlers.jobs.export.tables import TABLES
from handlers.jobs.export.totals import check, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import RawIOBase

    from handlers.jobs.export.files import File
    from handlers.jobs.export.tables import Table
    from handlers.jobs.export.totals import Totals
    from handlers.runtime.context import Context

WEEK = timedelta(days=7)
FOLDER = "exports"

SNAPSHOT = "set transaction isolation level repeatable read, read only"
READ_AT = "select transaction_timestamp()"


def week_before(tick: datetime) -> tuple[datetime, datetime]:
    """The first moment of the week and the first after it: the seven whole UTC days before the day of the tick."""
    until = datetime.combine(tick.astimezone(UTC).date(), time(), UTC)
    return until - WEEK, until


def run(context: Context) -> Mapping[str, object]:
    """Write files and manifest; say where the manifest is, and how many rows and bytes it tells of.

    No link is in the result: a presigned one opens a file to whoever reads it, and the ledger keeps results for longer
    than any link is good. `handlers.jobs.export.links` makes links for who asks.
    """
    since, until = week_before(context.tick)
    folder = f"{FOLDER}/{until:%Y-%m-%d}"
    manifest = _write_files(context, folder, since, until)
    key = f"{folder}/{NAME}"
    context.files.put(key, manifest.to_json(), content_type=CONTENT_TYPE)
    return {
        "manifest": key,
        "rows": {name: totals.rows for name, (_, totals) in manifest.tables.items()},
        "bytes": sum(file.size for file in manifest.files),
    }


def _write_files(context: Context, folder: str, since: datetime, until: datetime) -> Manifest:
    connection, bucket = context.connection, context.files
    files: list[File] = []
    tables: dict[str, tuple[Table, Totals]] = {}
    done = 0
    # Leaving it completes the uploads of all files, or aborts all of them.
    with ExitStack() as uploads:

        def create(key: str, content_type: str) -> RawIOBase:
            return uploads.enter_context(bucket.writer(key, content_type=content_type, part=SMALLEST_PART))

        # A snapshot lasts as long as its transaction, and behind a transaction pooler so does a cursor.
        with connection.transaction():
            connection.execute(SNAPSHOT)
            [(read_at,)] = connection.execute(READ_AT).fetchall()
            expected = {table.name: counted(connection, table, since, until) for table in TABLES}
            rows = sum(each.rows for each in expected.values())
            for table in TABLES:
                batches = _watched(context, read(connection, table, since, until), done, rows)
                written, totals = write(table, batches, folder, create)
                check(table, totals, expected[table.name])
                files += written
                tables[table.name] = (table, totals)
                done += totals.rows
    context.progress(rows, rows)
    return Manifest(f"{context.job}/{context.run_key}", since, until, read_at, tuple(files), tables)


def _watched(context: Context, batches: Iterator[Any], done: int, rows: int) -> Iterator[Any]:
    """The batches, with progress noted and a request to stop obeyed before each."""
    for batch in batches:
        context.progress(done, rows)
        context.stop_if_asked()
        yield batch
        done += batch.num_rows
