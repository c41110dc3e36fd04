"""What an export of many orders takes: seconds, the most memory, and whether the files say what the database says.

python -m benchmarks.export [--orders 1000000]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from benchmarks.export_check import differences
from benchmarks.export_data import fill
from benchmarks.export_process import BUCKET
from handlers.files.bucket import Bucket
from handlers.guard.migrate import migrate
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings as AwsSettings
from ops.local.postgres import server

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Measured:
    """One export in a process of its own. peak: the most memory that it held, bytes. result: what the job returned."""

    seconds: float
    peak: int
    result: dict[str, Any]


def measure(url: str, aws: LocalAws) -> Measured:
    """Export from the migrated database at `url` to BUCKET of this AWS."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.export_process", url],
        cwd=ROOT,
        env={"PATH": os.environ.get("PATH", os.defpath), **aws.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the export ended with {done.returncode}: {done.stderr.strip()}")
    peak, result = json.loads(done.stdout.splitlines()[-1])
    return Measured(time.perf_counter() - began, peak, result)


def main() -> int:
    """Fill a server of its own, export to a local AWS, and print seconds, memory and sizes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--orders", type=int, default=1_000_000)
    orders = parser.parse_args().orders
    with TemporaryDirectory() as folder, server(None, fast=True) as url, LocalAws(AwsSettings(Path(folder))) as aws:
        with psycopg.connect(url) as connection:
            migrate(connection)
        began = time.perf_counter()
        fill(url, orders)
        print(f"filled in {time.perf_counter() - began:.1f} s")
        aws.client("s3").create_bucket(Bucket=BUCKET)
        measured = measure(url, aws)
        print(f"exported in {measured.seconds:.1f} s, in at most {measured.peak / 2**20:.0f} MiB: {measured.result}")
        found = differences(url, Bucket(BUCKET, aws.client("s3")), measured.result["manifest"], Path(folder))
        print("; ".join(found) or "rows and sums are the database's, by pyarrow and by DuckDB")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
