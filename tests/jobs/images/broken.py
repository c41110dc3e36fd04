"""Files that are no images, or not whole, or more than a machine should bear; made when a test asks for them."""

import random
import struct
import zlib
from collections.abc import Callable

from tests.jobs.images.pictures import gradient, quarters, saved
from tests.jobs.images.png_parts import PNG, chunk, header, png


def jpeg_of(width: int, height: int) -> bytes:
    """A JPEG whose header says it has so many pixels."""
    data = bytearray(_jpeg())
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def gif(width: int, height: int, *, picture: tuple[int, int]) -> bytes:
    """A GIF that says it has so many pixels, and so many of them in its one picture."""
    screen = struct.pack("<HHBBB", width, height, 0, 0, 0)
    return b"GIF89a" + screen + b"," + struct.pack("<HHHHB", 0, 0, *picture, 0) + b"\x02\x02\x4c\x01\x00;"


def webp_of(width: int, height: int) -> bytes:
    """An animated WebP with a canvas of so many pixels, and one small frame on it ("WebP container specification")."""
    picture = saved(quarters(), "WEBP")[12:]
    frame = bytes(6) + _three(120 - 1) + _three(80 - 1) + bytes(4) + picture
    body = (
        _riff(b"VP8X", b"\x02\0\0\0" + _three(width - 1) + _three(height - 1))
        + _riff(b"ANIM", bytes(6))
        + _riff(b"ANMF", frame)
    )
    return _riff(b"RIFF", b"WEBP" + body)


def _riff(kind: bytes, data: bytes) -> bytes:
    return kind + struct.pack("<I", len(data)) + data


def _three(number: int) -> bytes:
    return struct.pack("<I", number)[:3]


def many_scans() -> bytes:
    """A progressive JPEG that goes over its pixels thousands of times, each time with a few bytes."""
    data = saved(quarters(), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * 5000 + data[-2:]


def _jpeg() -> bytes:
    return saved(gradient(400, 300), "JPEG")


def _png() -> bytes:
    return saved(quarters(), "PNG")


def _noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)  # noqa: S311  # the same each time


BOMBS: dict[str, Callable[[], bytes]] = {
    "a PNG of 2,500 million pixels.png": lambda: png(50_000, 50_000, zlib.compress(bytes(1_000_000))),
    "a PNG of 64 million pixels.png": lambda: png(8_000, 8_000, zlib.compress(bytes(1_000_000))),
    "a PNG that is one row.png": lambda: png(40_000, 1, zlib.compress(bytes(120_001))),
    "a PNG of the largest numbers.png": lambda: png(2**31 - 1, 2**31 - 1, zlib.compress(b"")),
    "a JPEG of 3,600 million pixels.jpg": lambda: jpeg_of(60_000, 60_000),
    "a JPEG of 144 million pixels.jpg": lambda: jpeg_of(12_000, 12_000),
    "a JPEG of thousands of scans.jpg": many_scans,
    "a GIF of 64 million pixels.gif": lambda: gif(8_000, 8_000, picture=(1, 1)),
    "a GIF whose picture is larger than it.gif": lambda: gif(1, 1, picture=(60_000, 60_000)),
    "a WebP of 268 million pixels.webp": lambda: webp_of(16_383, 16_383),
    "a WebP of 196 million pixels.webp": lambda: webp_of(14_000, 14_000),
    "a PNG with 50 MB of comment.png": lambda: png(
        1, 1, zlib.compress(bytes(4)), chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(50_000_000), 9))
    ),
}

NO_IMAGES: dict[str, Callable[[], bytes]] = {
    "nothing.jpg": lambda: b"",
    "one byte.jpg": lambda: b"\xff",
    "text.jpg": lambda: b"This is a menu, not a picture of one.\n",
    "a web page.jpg": lambda: b"<!doctype html><html><body>403 Forbidden</body></html>",
    "a drawing.svg": lambda: b'<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9"/></svg>',
    "a document.png": lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "an archive.webp": lambda: b"PK\x03\x04" + _noise(200),
    "a program.png": lambda: b"\x7fELF\x02\x01\x01" + bytes(200),
    "a sound in the container of WebP.webp": lambda: b"RIFF" + struct.pack("<I", 40) + b"WAVEfmt " + bytes(40),
    "noise.jpg": lambda: _noise(4096),
    "zeros.png": lambda: bytes(4096),
    "a TIFF.tiff": lambda: saved(quarters(), "TIFF"),
    "a bitmap.bmp": lambda: saved(quarters(), "BMP"),
    "an icon.ico": lambda: saved(quarters(32, 32), "ICO"),
    "an AVIF.avif": lambda: saved(quarters(), "AVIF"),
    "a JPEG 2000 by the name of JPEG.jpg": lambda: saved(quarters(), "JPEG2000"),
    "a PostScript program.jpg": lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    "a JPEG with another start.jpg": lambda: b"\x00\x00" + _jpeg()[2:],
    "a PNG that went through a text editor.png": lambda: _png().replace(b"\r\n", b"\n", 1),
}

NOT_WHOLE: dict[str, Callable[[], bytes]] = {
    "the start of a JPEG.jpg": lambda: _jpeg()[:3],
    "half the header of a JPEG.jpg": lambda: _jpeg()[:200],
    "half a JPEG.jpg": lambda: _jpeg()[: len(_jpeg()) // 2],
    "half a progressive JPEG.jpg": lambda: _half(saved(gradient(400, 300), "JPEG", progressive=True)),
    "a JPEG without a scan.jpg": lambda: _jpeg()[: _jpeg().index(b"\xff\xda")] + b"\xff\xd9",
    "a JPEG of no height.jpg": lambda: jpeg_of(400, 0),
    "a JPEG of no width.jpg": lambda: jpeg_of(0, 300),
    "the start of a PNG.png": lambda: PNG,
    "half a PNG.png": lambda: _half(saved(gradient(400, 300), "PNG")),
    "a PNG without pixels.png": lambda: header(10, 10) + chunk(b"IEND", b""),
    "a PNG with a wrong checksum in its header.png": lambda: (
        PNG + chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 2, 0, 0, 0), checksum=1) + chunk(b"IEND", b"")
    ),
    "a PNG of pixels that are not compressed.png": lambda: png(9, 9, _noise(300)),
    "a PNG of fewer pixels than it says.png": lambda: png(99, 99, zlib.compress(bytes(100))),
    "a PNG of a colour that there is not.png": lambda: header(9, 9, colour=5) + chunk(b"IEND", b""),
    "a PNG of no width.png": lambda: png(0, 9, zlib.compress(b"")),
    "a PNG with a chunk longer than the file.png": lambda: (
        header(9, 9) + struct.pack(">I", 2**31 - 1) + b"IDAT" + bytes(9)
    ),
    "the start of a GIF.gif": lambda: b"GIF89a",
    "a GIF without a picture.gif": lambda: b"GIF89a" + struct.pack("<HHBBB", 9, 9, 0, 0, 0) + b";",
    "half a GIF.gif": lambda: _half(saved(gradient(400, 300), "GIF")),
    "the start of a WebP.webp": lambda: b"RIFF\x00\x01\x00\x00WEBP",
    "half a WebP.webp": lambda: _half(saved(gradient(400, 300), "WEBP")),
    "a WebP of noise.webp": lambda: (
        b"RIFF" + struct.pack("<I", 212) + b"WEBPVP8 " + struct.pack("<I", 200) + _noise(200)
    ),
}


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


BROKEN = BOMBS | NO_IMAGES | NOT_WHOLE
