"""An export of more orders than fit into one part of an upload, by processes of their own, to the local AWS."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.export import measure
from benchmarks.export_check import differences
from benchmarks.export_data import fill
from benchmarks.export_process import BUCKET
from handlers.files.bucket import Bucket
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings

# Enough for the second part of a file, and for the memory to have come to what it stays at: a million take no more.
ORDERS = 170_000
MOST_MEMORY = 200 * 2**20  # bytes


@pytest.fixture
def aws(tmp_path: Path) -> Iterator[LocalAws]:
    """A local AWS with the environment's bucket."""
    with LocalAws(Settings(tmp_path)) as local:
        local.client("s3").create_bucket(Bucket=BUCKET)
        yield local


def test_one_that_is_killed_leaves_nothing_to_be_seen_and_the_next_attempt_is_whole_in_little_memory(
    database_url: str, aws: LocalAws, tmp_path: Path
) -> None:
    fill(database_url, ORDERS)
    command = [sys.executable, "-m", "tests.jobs.export_and_die", database_url, str(ORDERS)]
    died = subprocess.run(command, env=aws.environment, capture_output=True, text=True, check=False)
    assert died.returncode == -9, died.stderr
    s3 = aws.client("s3")
    assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0
    # Sent, and never to be seen: what the bucket's lifecycle rule is for.
    assert s3.list_multipart_uploads(Bucket=BUCKET)["Uploads"]
    measured = measure(database_url, aws)
    assert measured.peak < MOST_MEMORY
    assert measured.result["rows"] == {"orders": ORDERS, "order_items": 2 * ORDERS}
    assert differences(database_url, Bucket(BUCKET, s3), measured.result["manifest"], tmp_path) == []
