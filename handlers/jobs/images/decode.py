"""From the bytes of an upload to the largest picture that is asked for. Nobody vouches for these bytes.

What the header says is judged before memory is taken for pixels, and only decoders of formats that are allowed are
tried. The first picture of an animation stands for all of it.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO

from PIL import ExifTags, Image, ImageFile, UnidentifiedImageError

from handlers.jobs.images.colour import eight_bit, in_srgb
from handlers.jobs.images.sizes import Size, sizes
from handlers.jobs.images.unusable import Unusable

FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
# What Pillow calls a JPEG; the second has further pictures behind it, as many phones make them.
JPEGS = ("JPEG", "MPO")
ALLOWED = "JPEG, PNG, WebP or GIF"

# A JPEG is decoded at a fraction of its size; of the others every pixel takes up to 20 bytes on the way.
MOST_PIXELS = 50_000_000
MOST_PIXELS_OF_JPEG = 100_000_000
# Also what a WebP may have at most ("WebP container specification"), so that every image can be written.
LONGEST_EDGE = 16_383

# A scan goes over all pixels again and may be ten bytes long; encoders make about ten of them.
SCAN = b"\xff\xda"  # JPEG's start-of-scan marker, which occurs in no picture's data (ITU-T T.81, B.1.1.2)
MOST_SCANS = 200

# Decoding starts at twice the size that is wanted or more: what is left for the filter to do keeps edges sharp.
SPARE = 2

# How each value of EXIF's Orientation is undone ("Exif 2.32", 4.6.4; 1 is upright).
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
LYING = (5, 6, 7, 8)  # those that exchange width and height

# Pillow's own check raises at twice this, and comes before a decoder takes memory in `Image.open`.
Image.MAX_IMAGE_PIXELS = MOST_PIXELS_OF_JPEG


def largest(data: bytes, widths: Sequence[int]) -> tuple[Image.Image, list[Size]]:
    """The picture in the largest of the sizes to make, and all of these.

    It is upright, in sRGB, of mode RGB or RGBA, and nothing is left of EXIF, XMP, comments and profiles. Raises
    Unusable for what is no such file, too large, or broken.
    """
    if not data:
        raise Unusable(f"it is empty: allowed is a {ALLOWED} file")
    with _opened(data) as file:
        _judge(file, data)
        if file.format not in JPEGS:
            with _whole(data):
                file.load()  # a PNG may have its EXIF behind its pixels
        orientation = _orientation(file)
        wanted = sizes(_turned(file.size, orientation), widths)
        size, profile = _turned(wanted[-1], orientation), file.info.get("icc_profile")
        with _whole(data):
            file.draft(None, (size[0] * SPARE, size[1] * SPARE))  # does nothing to what is no JPEG
            image = eight_bit(file)
        image = in_srgb(image.resize(size, Image.Resampling.LANCZOS, reducing_gap=SPARE), profile)
    return (image.transpose(UPRIGHT[orientation]) if orientation in UPRIGHT else image), wanted


def _opened(data: bytes) -> ImageFile.ImageFile:
    """The file with its header read. Raises Unusable."""
    with _whole(data), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # `_judge` says it
        return Image.open(BytesIO(data), formats=FORMATS)


@contextmanager
def _whole(data: bytes) -> Iterator[None]:
    """Raise Unusable for whatever Pillow raises at a file that is none of ours, or not whole."""
    try:
        yield
    except UnidentifiedImageError:
        raise Unusable(f"it is not read as {ALLOWED}, it starts with {data[:12]!r}: allowed are whole ones") from None
    except Image.DecompressionBombError:
        raise Unusable(f"it has far more pixels than may be: allowed are {_most(MOST_PIXELS_OF_JPEG)}") from None
    except MemoryError:
        raise  # says something of this machine, and nothing of the file
    except Exception as error:  # broken files make decoders raise nearly anything, and the same at each attempt
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise Unusable(f"it cannot be decoded ({reason[:120]}): allowed is a whole {ALLOWED} file") from error


def _judge(file: ImageFile.ImageFile, data: bytes) -> None:
    """Refuse what would take too much memory or time. Raises Unusable."""
    width, height = file.size
    most = MOST_PIXELS_OF_JPEG if file.format in JPEGS else MOST_PIXELS
    if width * height > most or max(width, height) > LONGEST_EDGE:
        raise Unusable(f"it is a {file.format} of {width} x {height} pixels: allowed are {_most(most)}")
    if file.format in JPEGS and (scans := data.count(SCAN)) > MOST_SCANS:
        raise Unusable(f"it is a JPEG of {scans} scans: allowed are at most {MOST_SCANS}")


def _most(pixels: int) -> str:
    return f"at most {pixels // 1_000_000} million pixels, and {LONGEST_EDGE:,} along an edge"


def _orientation(file: ImageFile.ImageFile) -> int:
    """EXIF's Orientation, 1 to 8; 1 when there is none that can be read, as viewers do."""
    try:
        found = file.getexif().get(ExifTags.Base.Orientation)
    except Exception:  # noqa: BLE001  # broken metadata is dropped like any other; the picture may be well
        return 1
    return found if isinstance(found, int) and found in UPRIGHT else 1


def _turned(size: Size, orientation: int) -> Size:
    return (size[1], size[0]) if orientation in LYING else size
