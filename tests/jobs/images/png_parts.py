"""PNG files by their parts ("Portable Network Graphics Specification", third edition)."""

import struct
import zlib

PNG = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, data: bytes, *, checksum: int | None = None) -> bytes:
    """A chunk of a PNG."""
    crc = zlib.crc32(kind + data) if checksum is None else checksum
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def header(width: int, height: int, *, depth: int = 8, colour: int = 2) -> bytes:
    """The header of a PNG that says it has so many pixels; colour: 2 is RGB."""
    return PNG + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))


def png(width: int, height: int, pixels: bytes, *more: bytes) -> bytes:
    """A PNG with these compressed bytes for pixels, and more chunks before them."""
    return header(width, height) + b"".join(more) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
