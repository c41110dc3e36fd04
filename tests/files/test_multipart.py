"""Files that are written while they are made."""

import csv
import gc
import io
import tracemalloc
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest
from mypy_boto3_s3 import S3Client

from handlers.files.bucket import Bucket
from handlers.files.upload import MEBIBYTE
from tests.files.conftest import NAME
from tests.files.raw_answers import parts_vanish
from tests.files.uploads import PART, BrokenBlock, uploads


def test_what_is_written_in_pieces_is_the_object_when_the_block_ends(bucket: Bucket, s3: S3Client) -> None:
    pieces = [bytes([number]) * (3 * MEBIBYTE) for number in range(4)]
    with bucket.writer("exports/a", content_type="text/csv", part=PART) as out:
        for piece in pieces:
            assert out.write(piece) == len(piece)
        assert out.tell() == 12 * MEBIBYTE
        assert bucket.find("exports/a") is None
    content = bucket.read("exports/a", at_most=12 * MEBIBYTE)
    assert content.data == b"".join(pieces)
    assert content.stored.content_type == "text/csv"
    assert content.stored.etag.endswith("-3")  # S3's sign for an object of three parts
    assert uploads(s3) == []


def test_a_piece_of_many_parts_is_cut(bucket: Bucket) -> None:
    data = bytes(range(256)) * (2 * PART // 256) + b"the rest"
    with bucket.writer("a", content_type="text/plain", part=PART) as out:
        out.write(data)
    content = bucket.read("a", at_most=len(data))
    assert content.data == data
    assert content.stored.etag.endswith("-3")


def test_a_file_that_ends_with_a_full_part_has_no_empty_one(bucket: Bucket) -> None:
    with bucket.writer("a", content_type="text/plain", part=PART) as out:
        out.write(bytes(2 * PART))
    stored = bucket.find("a")
    assert stored is not None
    assert (stored.size, stored.etag[-2:]) == (2 * PART, "-2")


@pytest.mark.parametrize("data", [b"", b"short"])
def test_what_is_shorter_than_a_part_is_written_by_one_call(bucket: Bucket, data: bytes) -> None:
    with bucket.writer("a", content_type="text/plain") as out:
        out.write(data)
    content = bucket.read("a", at_most=100)
    assert content.data == data
    assert "-" not in content.stored.etag


def test_a_block_that_raises_leaves_what_was_there_and_no_parts(bucket: Bucket, s3: S3Client) -> None:
    bucket.put("a", b"before", content_type="text/plain")
    with suppress(BrokenBlock), bucket.writer("a", content_type="text/plain", part=PART) as out:
        out.write(bytes(PART + 1))
        assert uploads(s3) == ["a"]
        raise BrokenBlock
    assert bucket.read("a", at_most=100).data == b"before"
    assert uploads(s3) == []
    assert out.closed


def test_a_short_file_whose_block_raises_is_not_written(bucket: Bucket) -> None:
    with suppress(BrokenBlock), bucket.writer("a", content_type="text/plain") as out:
        out.write(b"1")
        raise BrokenBlock
    assert bucket.find("a") is None


def test_an_aborted_writer_leaves_nothing_and_takes_nothing(bucket: Bucket, s3: S3Client) -> None:
    out = bucket.writer("a", content_type="text/plain", part=PART)
    out.write(bytes(PART))
    out.abort()
    out.close()
    assert (bucket.find("a"), uploads(s3)) == (None, [])
    with pytest.raises(ValueError, match=f"s3://{NAME}/a is closed, or could not be written: open another writer"):
        out.write(b"1")


def test_a_second_close_does_nothing(bucket: Bucket) -> None:
    out = bucket.writer("a", content_type="text/plain")
    out.write(b"1")
    out.close()
    bucket.put("a", b"of somebody else", content_type="text/plain")
    out.close()
    assert bucket.read("a", at_most=100).data == b"of somebody else"


def test_a_writer_that_is_forgotten_publishes_nothing(bucket: Bucket) -> None:
    out = bucket.writer("a", content_type="text/plain")
    out.write(b"half of it")
    del out
    gc.collect()
    assert bucket.find("a") is None


def test_parts_that_s3_would_refuse_are_refused_before_one_is_sent(bucket: Bucket) -> None:
    with pytest.raises(ValueError, match="part 5242879: allowed are 5242880 bytes or more"):
        bucket.writer("a", content_type="text/plain", part=PART - 1)


def test_the_parts_carry_the_checksums_that_the_sdk_has_added(bucket: Bucket, s3: S3Client) -> None:
    completed: list[Any] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        completed.extend(params["MultipartUpload"]["Parts"])

    s3.meta.events.register("provide-client-params.s3.CompleteMultipartUpload", note)
    try:
        with bucket.writer("a", content_type="text/plain", part=PART) as out:
            out.write(bytes(PART))
    finally:
        s3.meta.events.unregister("provide-client-params.s3.CompleteMultipartUpload", note)
    # A checksum of 32 bits, in base64.
    assert [(part["PartNumber"], len(part["ChecksumCRC32"])) for part in completed] == [(1, 8)]


def test_text_is_written_through_the_standard_librarys_layers(bucket: Bucket) -> None:
    with bucket.writer("a.csv", content_type="text/csv") as out:
        text = io.TextIOWrapper(out, encoding="utf-8", newline="")
        csv.writer(text).writerows([["dish", "minor"], ["crème brûlée", 1900]])
        text.flush()
    assert bucket.read("a.csv", at_most=100).data.decode() == "dish,minor\r\ncrème brûlée,1900\r\n"


def test_arrow_writes_parquet_into_it(bucket: Bucket) -> None:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    table = arrow.table({"id": list(range(1000))})
    with bucket.writer("a.parquet", content_type="application/vnd.apache.parquet") as out:
        parquet.write_table(table, out)
    assert parquet.read_table(io.BytesIO(bucket.read("a.parquet", at_most=MEBIBYTE).data)).equals(table)


def test_a_long_file_takes_the_memory_of_a_few_parts(bucket: Bucket, s3: S3Client) -> None:
    piece = bytes(MEBIBYTE)
    out = bucket.writer("a", content_type="text/plain", part=PART)
    tracemalloc.start()
    try:
        with parts_vanish(s3) as sent:
            for _ in range(100):
                out.write(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        out.abort()
    assert len(sent) == 20
    assert peak < 4 * PART
