"""Pictures of every kind that uploads are of, made when a test asks for them."""

from io import BytesIO
from typing import Any

from PIL import Image

from handlers.jobs.images.decode import largest
from handlers.jobs.images.encode import Encoded, encoded

Colour = tuple[int, int, int]
Colours = tuple[Colour, Colour, Colour, Colour]

RED, GREEN, BLUE, YELLOW = (220, 30, 30), (30, 200, 40), (30, 40, 210), (230, 220, 40)
UPRIGHT_QUARTERS = [RED, GREEN, BLUE, YELLOW]


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    """The picture as a file of that format."""
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    """What a file shows."""
    image = Image.open(BytesIO(data))
    image.load()
    return image


def quarters(width: int = 120, height: int = 80, colours: Colours = (RED, GREEN, BLUE, YELLOW)) -> Image.Image:
    """A picture that shows which way up it is: two colours above, from left to right, and two below."""
    image = Image.new("RGB", (width, height), colours[0])
    image.paste(colours[1], (width // 2, 0, width, height // 2))
    image.paste(colours[2], (0, height // 2, width // 2, height))
    image.paste(colours[3], (width // 2, height // 2, width, height))
    return image


def corners(image: Image.Image) -> list[tuple[int, ...]]:
    """The colours in the middle of its quarters: above left, above right, below left, below right."""
    rgb = image.convert("RGB")
    places = [(1, 1), (3, 1), (1, 3), (3, 3)]
    found = [rgb.getpixel((image.width * x // 4, image.height * y // 4)) for x, y in places]
    return [pixel for pixel in found if isinstance(pixel, tuple)]


def near(one: tuple[int, ...], other: tuple[int, ...], tolerance: int = 12) -> bool:
    """Whether two colours look the same, each of the channels within `tolerance` of 255."""
    return len(one) == len(other) and all(abs(a - b) <= tolerance for a, b in zip(one, other, strict=True))


def made(data: bytes, *widths: int) -> list[Encoded]:
    """The images of a file."""
    picture, sizes = largest(data, widths)
    return [encoded(picture, size) for size in sizes]


def shows(data: bytes) -> list[tuple[int, ...]]:
    """The corners of what a file shows."""
    return corners(opened(data))


def same(found: list[tuple[int, ...]], expected: list[Colour]) -> bool:
    """Whether corners look as they should, in a lossy format too."""
    return all(near(one, other, 16) for one, other in zip(found, expected, strict=True))


def gradient(width: int, height: int) -> Image.Image:
    """A picture without noise, which is quick to encode however large it is."""
    row = Image.linear_gradient("L").resize((width, height), Image.Resampling.NEAREST)
    return Image.merge("RGB", (row, row.transpose(Image.Transpose.FLIP_TOP_BOTTOM), row))
