"""A picture as a file for the web: JPEG, or WebP where something is transparent."""

from dataclasses import dataclass
from io import BytesIO

from PIL import Image

from handlers.jobs.images.sizes import Size

QUALITY = 82  # of 100; beyond it files grow faster than anybody sees a difference


@dataclass(frozen=True, slots=True)
class Encoded:
    """A finished file. size: pixels. extension: without a dot."""

    size: Size
    extension: str
    content_type: str
    data: bytes


def encoded(largest: Image.Image, size: Size) -> Encoded:
    """The picture, RGB or RGBA and at least as large as `size`, in that size."""
    image = largest if largest.size == size else largest.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)
    out = BytesIO()
    if image.mode == "RGBA":
        image.save(out, "WEBP", quality=QUALITY)
        return Encoded(size, "webp", "image/webp", out.getvalue())
    image.save(out, "JPEG", quality=QUALITY, optimize=True, progressive=True)
    return Encoded(size, "jpg", "image/jpeg", out.getvalue())
