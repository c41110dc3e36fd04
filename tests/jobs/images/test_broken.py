"""Files of which no attempt can make images."""

from collections.abc import Callable

import pytest
from mypy_boto3_s3 import S3Client

from handlers.files.bucket import Bucket
from handlers.jobs.image_resize import run
from handlers.runtime.context import Context
from handlers.runtime.retry import Fatal
from tests.jobs.images.broken import BROKEN
from tests.jobs.images.conftest import keys


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_whole_image_ends_the_run_with_a_sentence_and_writes_nothing(
    context_of: Callable[..., Context], bucket: Bucket, s3: S3Client, name: str
) -> None:
    source = f"uploads/{name}"
    bucket.put(source, BROKEN[name](), content_type="image/jpeg")
    with pytest.raises(Fatal) as raised:
        run(context_of({"source": source}))
    said = str(raised.value)
    assert said.startswith(f"{source}: it ")
    assert ": allowed " in said
    assert "\n" not in said
    assert len(said) < 300
    assert keys(s3) == [source]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a document.png", r"it is not read as JPEG, PNG, WebP or GIF, it starts with b'%PDF-1.7\n%\xe2\xe3'"),
        ("half a JPEG.jpg", "it cannot be decoded (image file is truncated"),
        ("a JPEG of 144 million pixels.jpg", "it is a JPEG of 12000 x 12000 pixels: allowed are at most 100 million"),
        ("a WebP of 196 million pixels.webp", "it is a WEBP of 14000 x 14000 pixels: allowed are at most 50 million"),
        (
            "a PNG that is one row.png",
            "it is a PNG of 40000 x 1 pixels: allowed are at most 50 million pixels, and 16,383",
        ),
        ("a PNG of 2,500 million pixels.png", "it has far more pixels than may be: allowed are at most 100 million"),
        ("a JPEG of thousands of scans.jpg", "scans: allowed are at most 200"),
        ("nothing.jpg", "it is empty: allowed is a JPEG, PNG, WebP or GIF file"),
    ],
)
def test_the_sentence_says_what_is_wrong(
    context_of: Callable[..., Context], bucket: Bucket, name: str, said: str
) -> None:
    bucket.put("uploads/a", BROKEN[name](), content_type="image/jpeg")
    with pytest.raises(Fatal) as raised:
        run(context_of({"source": "uploads/a"}))
    assert said in str(raised.value)
