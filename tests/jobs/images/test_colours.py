"""In which colours pictures come out, and what is clear of them."""

import struct
import zlib

import pytest
from PIL import Image, ImageCms

from handlers.jobs.images.decode import largest
from tests.jobs.images.pictures import (
    UPRIGHT_QUARTERS,
    corners,
    made,
    near,
    opened,
    quarters,
    same,
    saved,
    shows,
)
from tests.jobs.images.png_parts import chunk, header


def test_colours_are_those_of_the_files_own_profile() -> None:
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    # A space whose red is our blue: the two primaries' places in the table of tags exchanged.
    exchanged = srgb.replace(b"rXYZ", b"temp", 1).replace(b"bXYZ", b"rXYZ", 1).replace(b"temp", b"bXYZ", 1)
    [image] = made(saved(Image.new("RGB", (40, 40), (250, 0, 0)), "PNG", icc_profile=exchanged), 40)
    assert near(corners(opened(image.data))[0], (0, 0, 250), 16)


@pytest.mark.parametrize("profile", [b"no profile", bytes(200)])
def test_a_broken_profile_is_passed_over(profile: bytes) -> None:
    [image] = made(saved(quarters(), "JPEG", icc_profile=profile, quality=90), 120)
    assert same(shows(image.data), UPRIGHT_QUARTERS)


def test_a_profile_of_another_kind_of_pixel_is_passed_over() -> None:
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    [image] = made(saved(Image.new("L", (40, 40), 90), "PNG", icc_profile=srgb), 40)
    assert near(corners(opened(image.data))[0], (90, 90, 90), 6)


def test_a_picture_for_print_comes_out_as_it_looks() -> None:
    inks = Image.new("CMYK", (64, 64), (0, 255, 255, 0))
    inks.paste((0, 0, 0, 255), (0, 32, 64, 64))
    [image] = made(saved(inks, "JPEG", quality=95), 64)
    assert (image.extension, image.content_type) == ("jpg", "image/jpeg")
    above, _, below, _ = corners(opened(image.data))
    assert near(above, (255, 0, 0), 30)
    assert near(below, (0, 0, 0), 30)


def test_shades_of_grey_with_16_bits_keep_their_brightness() -> None:
    grey = Image.new("I;16", (40, 40), 40_000)
    [image] = made(saved(grey, "PNG"), 40)
    assert near(corners(opened(image.data))[0], (156, 156, 156), 4)


def test_colours_with_16_bits_keep_their_brightness() -> None:
    row = b"\0" + struct.pack(">HHH", 56_000, 8_000, 20_000) * 40
    parts = (header(40, 40, depth=16), chunk(b"IDAT", zlib.compress(row * 40)), chunk(b"IEND", b""))
    [image] = made(b"".join(parts), 40)
    assert near(corners(opened(image.data))[0], (218, 31, 78), 6)


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [("1", 1, (255, 255, 255)), ("L", 90, (90, 90, 90)), ("P", 1, (1, 1, 1))],
)
def test_every_kind_of_opaque_pixel_makes_a_jpeg(mode: str, value: int, expected: tuple[int, int, int]) -> None:
    source = Image.new(mode, (40, 40), value)
    if mode == "P":
        source.putpalette(bytes(number for shade in range(256) for number in (shade, shade, shade)))
    [image] = made(saved(source, "PNG"), 20)
    assert (image.size, image.extension) == ((20, 20), "jpg")
    assert near(corners(opened(image.data))[0], expected, 4)


def half_clear(mode: str) -> bytes:
    """A PNG, red on its left half and clear on its right, in that way of saying so."""
    source = Image.new("RGBA", (80, 40), (220, 30, 30, 255))
    source.paste((30, 200, 40, 0), (40, 0, 80, 40))
    match mode:
        case "palette":
            return saved(source.quantize(8), "PNG")
        case "one colour":
            return saved(source.convert("RGB"), "PNG", transparency=(30, 200, 40))
        case "grey":
            return saved(source.convert("LA"), "PNG")
        case "one shade":
            return saved(source.convert("L"), "PNG", transparency=source.convert("L").getpixel((60, 20)))
    return saved(source, mode)


@pytest.mark.parametrize("mode", ["PNG", "WEBP", "GIF", "palette", "one colour", "grey", "one shade"])
def test_what_is_clear_stays_clear_and_what_is_not_keeps_its_colour(mode: str) -> None:
    [image] = made(half_clear(mode), 40)
    assert (image.size, image.extension, image.content_type) == ((40, 20), "webp", "image/webp")
    shown = opened(image.data)
    assert shown.mode == "RGBA"
    left, right = shown.getpixel((8, 10)), shown.getpixel((32, 10))
    assert isinstance(left, tuple)
    assert isinstance(right, tuple)
    expected = (86, 86, 86) if mode in ("grey", "one shade") else (220, 30, 30)
    assert near(left, (*expected, 255), 16)
    assert right[3] == 0


def test_the_colour_of_what_is_clear_does_not_run_into_the_rest() -> None:
    picture, _ = largest(half_clear("PNG"), (37,))
    edge = picture.getpixel((18, 8))
    assert isinstance(edge, tuple)
    assert 0 < edge[3] < 255
    assert near(edge[:3], (220, 30, 30), 4)


def test_an_alpha_channel_without_a_use_makes_a_jpeg() -> None:
    source = quarters()
    source.putalpha(255)
    [image] = made(saved(source, "PNG"), 120)
    assert image.extension == "jpg"
    assert same(shows(image.data), UPRIGHT_QUARTERS)
