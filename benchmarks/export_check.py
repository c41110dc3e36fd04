"""Whether the files of an export hold what the database counts, asked of Arrow and DuckDB."""

import shutil
import urllib.request
from datetime import timedelta
from pathlib import Path

import duckdb
import psycopg
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from handlers.files.bucket import Bucket
from handlers.jobs.export.links import links

# Of all that there is: the data are of one week. The amounts as texts of three decimals.
ORDERS = """
select currency, count(*)::text, to_char(sum(total_minor / unit), 'FM999999999990.000'),
       to_char(sum(refunded_minor / unit), 'FM999999999990.000'), count(delivered_at)::text
from (
    select *, case currency when 'KWD' then 1000.0 else 100.0 end as unit
    from platform.orders join platform.restaurants as restaurant on restaurant.id = restaurant_id
) as priced
group by currency order by currency
"""
ITEMS = """
select currency, count(*)::text, to_char(sum(quantity * price_minor / unit), 'FM999999999990.000')
from (
    select *, case currency when 'KWD' then 1000.0 else 100.0 end as unit
    from platform.order_items as item join platform.orders as placed on placed.id = order_id
    join platform.restaurants as restaurant on restaurant.id = restaurant_id
) as priced
group by currency order by currency
"""
ORDERS_IN_FILE = """
select currency, count(*)::text, sum(total::decimal(22, 3))::text, sum(refunded::decimal(22, 3))::text,
       count(delivered_at)::text
from '{file}' group by currency order by currency
"""
ITEMS_IN_FILE = """
select currency, count(*)::text, sum(amount::decimal(22, 3))::text
from '{file}' group by currency order by currency
"""


def differences(url: str, bucket: Bucket, manifest: str, folder: Path) -> list[str]:
    """Fetch the files by their links into `folder`; one line for each that is not as the database has it."""
    files: dict[str, Path] = {}
    for key, link in links(bucket, manifest, timedelta(minutes=5)).items():
        name = key.rpartition("/")[2]
        files[name] = folder / name
        with urllib.request.urlopen(link) as answer, files[name].open("wb") as file:  # noqa: S310  # of our own making
            shutil.copyfileobj(answer, file)
    found = []
    with psycopg.connect(url) as database, duckdb.connect() as duck:
        for table, asked, asked_of_file in (("orders", ORDERS, ORDERS_IN_FILE), ("order_items", ITEMS, ITEMS_IN_FILE)):
            counted = database.execute(asked).fetchall()
            for name in (f"{table}.parquet", f"{table}.csv.gz"):
                held = duck.execute(asked_of_file.format(file=files[name])).fetchall()
                if held != counted:
                    found.append(f"{name} has {held}, the database {counted}")
            rows = pq.ParquetFile(files[f"{table}.parquet"]).metadata.num_rows
            if rows != sum(int(row[1]) for row in counted):
                found.append(f"{table}.parquet has {rows} rows by Arrow, and the database other")
    return found
