"""The job from message to objects."""

from collections.abc import Callable
from typing import Any

import pytest
from mypy_boto3_s3 import S3Client

from handlers.files.bucket import Bucket
from handlers.files.errors import AccessDenied, Unreachable
from handlers.jobs import image_resize
from handlers.jobs.image_resize import run
from handlers.jobs.images.sizes import source_id
from handlers.runtime.context import Context
from handlers.runtime.retry import Fatal
from handlers.runtime.stop import Stop
from handlers.runtime.supervisor import Interruption
from tests.files.raw_answers import answers
from tests.jobs.images.conftest import NAME, keys
from tests.jobs.images.pictures import opened, quarters, saved

SOURCE = "uploads/menu/42.jpg"

ContextOf = Callable[..., Context]


def upload(bucket: Bucket, quality: int = 90) -> str:
    """Put a picture of 120 x 80 pixels under SOURCE; its etag."""
    return bucket.put(SOURCE, saved(quarters(), "JPEG", quality=quality), content_type="image/jpeg").etag


def test_the_result_says_where_every_image_is_and_how_large(
    context_of: ContextOf, bucket: Bucket, s3: S3Client
) -> None:
    etag = upload(bucket)
    context = context_of({"source": SOURCE, "widths": [30, 60, 500]})
    result: Any = run(context)
    folder = f"images/{source_id(SOURCE, etag)}"
    assert (result["source"], result["etag"]) == (SOURCE, etag)
    assert [(image["key"], image["width"], image["height"]) for image in result["images"]] == [
        (f"{folder}/30.jpg", 30, 20),
        (f"{folder}/60.jpg", 60, 40),
        (f"{folder}/120.jpg", 120, 80),
    ]
    for image in result["images"]:
        content = bucket.read(image["key"], at_most=image["bytes"])
        assert (content.stored.size, content.stored.content_type) == (image["bytes"], "image/jpeg")
        assert opened(content.data).size == (image["width"], image["height"])
    assert len(keys(s3)) == 4
    assert (context.done, context.total) == (3, 3)


def test_another_run_for_the_same_upload_writes_the_same_objects_again(
    context_of: ContextOf, bucket: Bucket, s3: S3Client
) -> None:
    upload(bucket)
    first = run(context_of({"source": SOURCE}))
    before = keys(s3)
    assert run(context_of({"source": SOURCE})) == first
    assert keys(s3) == before


def test_another_upload_to_the_same_key_makes_other_objects(
    context_of: ContextOf, bucket: Bucket, s3: S3Client
) -> None:
    upload(bucket)
    run(context_of({"source": SOURCE}))
    upload(bucket, quality=40)
    run(context_of({"source": SOURCE}))
    assert len(keys(s3)) == 3


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({}, "source is None: allowed is the key of a file below uploads/"),
        ({"source": "exports/all.csv"}, "source is 'exports/all.csv': allowed is the key of a file below uploads/"),
        ({"source": SOURCE, "widths": [0]}, "widths has 0: allowed is a list of 1 to 10 whole numbers from 1 to 4096"),
    ],
)
def test_a_payload_that_asks_for_nothing_that_can_be_made_is_fatal(
    context_of: ContextOf, payload: dict[str, Any], said: str
) -> None:
    with pytest.raises(Fatal) as raised:
        run(context_of(payload))
    assert str(raised.value).startswith(said)


def test_a_source_that_is_not_there_is_fatal(context_of: ContextOf) -> None:
    with pytest.raises(Fatal, match=f"^there is no s3://{NAME}/{SOURCE}: upload it first"):
        run(context_of({"source": SOURCE}))


def test_a_source_of_too_many_bytes_is_fatal_and_is_not_read(
    context_of: ContextOf, bucket: Bucket, s3: S3Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(bucket)
    monkeypatch.setattr(image_resize, "MOST_BYTES", 100)
    with pytest.raises(Fatal, match=f"^s3://{NAME}/{SOURCE} has [0-9,]+ bytes: allowed are at most 100$"):
        run(context_of({"source": SOURCE}))
    assert keys(s3) == [SOURCE]


def test_trouble_with_s3_is_no_fatal_end(context_of: ContextOf, bucket: Bucket, s3: S3Client) -> None:
    upload(bucket)
    with answers(s3, "GetObject", 403, "AccessDenied"), pytest.raises(AccessDenied):
        run(context_of({"source": SOURCE}))


def test_a_run_that_could_not_write_everything_is_made_whole_by_the_next(
    context_of: ContextOf, bucket: Bucket, s3: S3Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
    upload(bucket)
    payload = {"source": SOURCE, "widths": [30, 60]}
    put = bucket.put
    done: list[str] = []

    def put_one(key: str, data: bytes, *, content_type: str) -> object:
        if done:
            with answers(s3, "PutObject", 503, "SlowDown"):
                return put(key, data, content_type=content_type)
        done.append(key)
        return put(key, data, content_type=content_type)

    with monkeypatch.context() as patch:
        patch.setattr(bucket, "put", put_one)
        with pytest.raises(Unreachable):
            run(context_of(payload))
    assert keys(s3) == [*done, SOURCE]
    result: Any = run(context_of(payload))
    assert keys(s3) == [*(image["key"] for image in result["images"]), SOURCE]


def test_a_run_that_is_told_to_stop_does_so_before_the_next_image(
    context_of: ContextOf, bucket: Bucket, s3: S3Client
) -> None:
    upload(bucket)
    stop = Stop()
    stop.request()
    with pytest.raises(Interruption):
        run(context_of({"source": SOURCE}, stop=stop))
    assert keys(s3) == [SOURCE]
