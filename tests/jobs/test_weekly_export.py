"""What a week's export holds, against the same rows found by plain SQL; and what is left of one that broke off."""

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import duckdb
import psycopg
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from moto import mock_aws
from mypy_boto3_s3 import S3Client
from psycopg.rows import dict_row

from handlers.files.bucket import Bucket, open_bucket
from handlers.files.errors import NoSuchFile
from handlers.jobs.export.links import links
from handlers.runtime.report import Result
from handlers.runtime.stop import Stop
from tests.jobs.exporting import BUCKET, FOLDER, MANIFEST, export

FILES = {
    f"{FOLDER}/{name}" for name in ("orders.parquet", "orders.csv.gz", "order_items.parquet", "order_items.csv.gz")
}

# Dinars and the rial have thousandths and the others hundredths, by division where the job multiplies.
ORDERS = """
select o.id as order_id, restaurant_id, currency, status, placed_at, delivered_at, cancelled_at, refunded_at,
       subtotal_minor / unit as subtotal, discount_minor / unit as discount, vat_minor / unit as vat,
       tip_minor / unit as tip, refunded_minor / unit as refunded, (subtotal_minor - discount_minor) / unit as net,
       (subtotal_minor - discount_minor + vat_minor + tip_minor) / unit as total
from platform.orders o join platform.restaurants r on r.id = restaurant_id
cross join lateral (select case when currency in ('BHD', 'KWD', 'OMR') then 1000.0 else 100.0 end as unit) as money
where placed_at between '2026-11-23 00:00+00' and '2026-11-29 23:59:59.999999+00' order by o.id
"""
ITEMS = """
select order_id, line, item_id, s.name as item, currency, quantity, i.price_minor / unit as price,
       i.price_minor * quantity / unit as amount
from platform.order_items i join platform.orders o on o.id = order_id join platform.stock s on s.id = item_id
join platform.restaurants r on r.id = o.restaurant_id
cross join lateral (select case when currency in ('BHD', 'KWD', 'OMR') then 1000.0 else 100.0 end as unit) as money
where placed_at between '2026-11-23 00:00+00' and '2026-11-29 23:59:59.999999+00' order by order_id, line
"""
EXPECTED = {"orders": ORDERS, "order_items": ITEMS}
# Texts that a reader of lines, or of commas, would fall over.
AWKWARD = """
update platform.stock set name = case id % 4 when 0 then 'Dish, "special" ' || id when 1 then E'two\nlines ' || id
                                  when 2 then '' else 'كبسة ' || id end
where id % 4 <> 2 or id = (select min(id) from platform.stock where id % 4 = 2)
"""
EDGES = """
insert into platform.orders (id, restaurant_id, status, placed_at, subtotal_minor, discount_minor, vat_minor, tip_minor,
                             refunded_minor)
values (1, 1, 'placed', '2026-11-22 23:59:59.999999+00', 1, 0, 0, 0, 0),
       (2, 1, 'placed', '2026-11-23 00:00+00', 1, 0, 0, 0, 0),
       (3, 1, 'placed', '2026-11-29 23:59:59.999999+00', 1, 0, 0, 0, 0),
       (4, 1, 'placed', '2026-11-30 00:00+00', 1, 0, 0, 0, 0)
"""


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Client]:
    """A client of an S3 with the environment's bucket."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():  # which also gives credentials
        client = boto3.client("s3")
        client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        yield client


def objects(s3: S3Client) -> dict[str, bytes]:
    """All that is to be seen in the bucket."""
    found = s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return {each["Key"]: s3.get_object(Bucket=BUCKET, Key=each["Key"])["Body"].read() for each in found}


def by_sql(database: psycopg.Connection, table: str) -> list[dict[str, Any]]:
    return database.cursor(row_factory=dict_row).execute(EXPECTED[table]).fetchall()


def as_text(value: object) -> str:
    """A value as the CSV has it."""
    match value:
        case None:
            return ""
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        case Decimal():
            return f"{value:.3f}"
    return str(value)


@pytest.mark.parametrize("table", ["orders", "order_items"])
def test_both_files_of_a_table_hold_each_row_of_the_week(
    table: str, platform: psycopg.Connection, database_url: str, s3: S3Client
) -> None:
    platform.execute(AWKWARD)
    export(database_url)
    held, expected = objects(s3), by_sql(platform, table)
    assert len(expected) > 1000
    assert pq.read_table(io.BytesIO(held[f"{FOLDER}/{table}.parquet"])).to_pylist() == expected
    text = gzip.decompress(held[f"{FOLDER}/{table}.csv.gz"]).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert rows == [{name: as_text(value) for name, value in row.items()} for row in expected]


def test_duckdb_reads_the_same_from_both_formats_types_and_nulls_included(
    platform: psycopg.Connection, database_url: str, s3: S3Client, tmp_path: Path
) -> None:
    platform.execute(AWKWARD)
    export(database_url)
    for key, data in objects(s3).items():
        (tmp_path / key.rpartition("/")[2]).write_bytes(data)
    with duckdb.connect() as duck:
        for table in EXPECTED:
            parquet, packed = f"'{tmp_path}/{table}.parquet'", f"'{tmp_path}/{table}.csv.gz'"
            columns = {name: kind for name, kind, *_ in duck.execute(f"describe from {parquet}").fetchall()}
            as_declared = (
                f"read_csv({packed}, header = true, columns = {columns}, nullstr = '', allow_quoted_nulls = false)"
            )
            duck.execute("set timezone = 'Asia/Riyadh'")
            from_parquet = duck.execute(f"from {parquet}").fetchall()
            assert from_parquet == [tuple(row.values()) for row in by_sql(platform, table)]
            assert duck.execute(f"from {as_declared}").fetchall() == from_parquet


def test_the_week_is_the_seven_utc_days_before_the_tick(
    platform: psycopg.Connection, database_url: str, s3: S3Client
) -> None:
    platform.execute("truncate platform.orders cascade")
    platform.execute(EDGES)
    export(database_url)
    assert pq.read_table(io.BytesIO(objects(s3)[f"{FOLDER}/orders.parquet"]))["order_id"].to_pylist() == [2, 3]


def test_the_manifest_tells_of_each_file_and_sum(platform: psycopg.Connection, database_url: str, s3: S3Client) -> None:
    report = export(database_url)
    held = objects(s3)
    assert held.keys() == FILES | {MANIFEST}
    manifest = json.loads(held[MANIFEST])
    assert manifest["range"] == {
        "column": "orders.placed_at",
        "since": "2026-11-23T00:00:00.000000Z",
        "until": "2026-11-30T00:00:00.000000Z",
    }
    for file in manifest["files"]:
        data = held[file["key"]]
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert file["rows"] == len(by_sql(platform, file["table"]))
    for table, name in (("orders", "total"), ("order_items", "amount")):
        sums: dict[str, Decimal] = {}
        for row in by_sql(platform, table):
            sums[row["currency"]] = sums.get(row["currency"], Decimal(0)) + row[name]
        told = manifest["tables"][table]["sums"]
        assert {currency: Decimal(of[name]) for currency, of in told.items()} == sums
    assert report.value is not None
    assert report.value["manifest"] == MANIFEST
    assert report.value["bytes"] == sum(len(held[key]) for key in FILES)


def test_the_manifest_is_written_after_all_files(
    platform: psycopg.Connection, database_url: str, s3: S3Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []
    put = Bucket.put

    def look_first(self: Bucket, key: str, data: bytes, *, content_type: str) -> object:
        seen.append(set(objects(s3)))
        return put(self, key, data, content_type=content_type)

    monkeypatch.setattr(Bucket, "put", look_first)
    export(database_url)
    assert seen == [FILES]


def test_neither_result_nor_ledger_has_a_link_and_one_is_made_for_who_asks(
    platform: psycopg.Connection, database_url: str, s3: S3Client
) -> None:
    export(database_url)
    [(ledger,)] = platform.execute("select string_agg(r::text, ' ') from shiftlock.job_runs r").fetchall()
    assert MANIFEST in ledger
    assert "X-Amz" not in ledger
    made = links(open_bucket(BUCKET), MANIFEST, timedelta(hours=1))
    assert made.keys() == FILES | {MANIFEST}
    for key, link in made.items():
        assert f"/{key}?" in link
        assert "X-Amz-Expires=3600" in link


def test_there_are_no_links_before_the_export_is_finished(s3: S3Client) -> None:
    with pytest.raises(NoSuchFile, match=MANIFEST):
        links(open_bucket(BUCKET), MANIFEST, timedelta(hours=1))


def test_told_to_stop_it_leaves_nothing_and_the_next_attempt_is_whole(
    platform: psycopg.Connection, database_url: str, s3: S3Client
) -> None:
    stop = Stop()
    stop.request()
    assert export(database_url, stop=stop).result is Result.INTERRUPTED
    assert objects(s3) == {}
    assert s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []) == []
    platform.execute("update shiftlock.job_runs set next_run = now()")
    assert export(database_url).result is Result.SUCCEEDED
    assert objects(s3).keys() == FILES | {MANIFEST}


def test_a_second_run_of_a_tick_writes_the_same_bytes_under_the_same_keys(
    platform: psycopg.Connection, database_url: str, s3: S3Client
) -> None:
    export(database_url)
    first = objects(s3)
    platform.execute("truncate shiftlock.job_runs cascade")
    export(database_url)
    second = objects(s3)
    del first[MANIFEST], second[MANIFEST]  # which tells when the rows were read
    assert first == second


def test_rows_that_the_database_counts_and_the_files_lack_leave_no_manifest(
    platform: psycopg.Connection, database_url: str, s3: S3Client
) -> None:
    platform.execute("alter table platform.order_items drop constraint order_items_item_id_fkey")
    platform.execute("delete from platform.stock where id = (select min(item_id) from platform.order_items)")
    report = export(database_url)
    assert report.result is Result.FAILED
    assert str(report.error).startswith("NotAsCounted: order_items: ")
    assert objects(s3) == {}


def test_a_week_without_orders_is_exported_too(
    load_until: Callable[[date], None], database_url: str, s3: S3Client
) -> None:
    load_until(date(2026, 11, 28))
    report = export(database_url, datetime(2027, 3, 1, 5, tzinfo=UTC))
    assert report.value is not None
    assert report.value["rows"] == {"orders": 0, "order_items": 0}
    held = objects(s3)
    assert pq.read_table(io.BytesIO(held["exports/2027-03-01/orders.parquet"])).num_rows == 0
    text = gzip.decompress(held["exports/2027-03-01/order_items.csv.gz"]).decode()
    assert text == '"order_id","line","item_id","item","currency","quantity","price","amount"\n'
