"""Make smaller images of an uploaded one, for pages to choose from.

All are made before the first is written, so a file that is broken leaves nothing behind; it fails the run at once,
since it will be broken at the next attempt too. Trouble with S3 is tried again. The same upload makes the same keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handlers.files.errors import NoSuchFile, TooLarge
from handlers.jobs.images.decode import largest
from handlers.jobs.images.encode import Encoded, encoded
from handlers.jobs.images.request import request
from handlers.jobs.images.sizes import image_key, source_id
from handlers.jobs.images.unusable import Unusable
from handlers.runtime.retry import Fatal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handlers.files.reading import Content
    from handlers.runtime.context import Context

MOST_BYTES = 64 * 1024 * 1024  # of a source


def run(context: Context) -> Mapping[str, object]:
    """Write the images of `payload["source"]`; say where they are and how large.

    Raises Fatal for a payload or a source that no attempt can make images of, and FileError for trouble with S3.
    """
    try:
        wanted = request(context.payload)
    except Unusable as error:
        raise Fatal(str(error)) from error
    content = _source(context, wanted.source)
    images = _images(wanted.source, content.data, wanted.widths)
    etag = content.stored.etag
    written: list[Mapping[str, object]] = []
    for image in images:
        context.progress(len(written), len(images))
        context.stop_if_asked()
        width, height = image.size
        key = image_key(source_id(wanted.source, etag), width, image.extension)
        context.files.put(key, image.data, content_type=image.content_type)
        written.append({"key": key, "width": width, "height": height, "bytes": len(image.data)})
    context.progress(len(images), len(images))
    return {"source": wanted.source, "etag": etag, "images": written}


def _source(context: Context, key: str) -> Content:
    try:
        return context.files.read(key, at_most=MOST_BYTES)
    except (NoSuchFile, TooLarge) as error:
        raise Fatal(str(error)) from error


def _images(source: str, data: bytes, widths: Sequence[int]) -> list[Encoded]:
    """Every image, from narrow to wide. Raises Fatal, naming the source."""
    try:
        picture, sizes = largest(data, widths)
    except Unusable as error:
        raise Fatal(f"{source}: {error}") from error
    return [encoded(picture, size) for size in sizes]
