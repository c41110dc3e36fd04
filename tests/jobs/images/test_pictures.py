"""How pictures come out: which way up, in which colours, and with nothing of the file that they were in."""

import struct
import zlib
from io import BytesIO

import pytest
from PIL import ExifTags, Image, ImageCms

from handlers.jobs.images.decode import largest
from handlers.jobs.images.encode import Encoded, encoded
from handlers.jobs.images.sizes import Size
from tests.jobs.images.pictures import (
    BLUE,
    GREEN,
    RED,
    YELLOW,
    Colours,
    corners,
    gradient,
    near,
    opened,
    quarters,
    saved,
)
from tests.jobs.images.png_parts import chunk, header

UPRIGHT_QUARTERS = [RED, GREEN, BLUE, YELLOW]
# The same picture as a camera writes it: which of its sides are the first row and the first column in the file
# ("Exif 2.32", 4.6.4, Orientation).
WRITTEN: dict[int, Colours] = {
    1: (RED, GREEN, BLUE, YELLOW),  # top, left
    2: (GREEN, RED, YELLOW, BLUE),  # top, right
    3: (YELLOW, BLUE, GREEN, RED),  # bottom, right
    4: (BLUE, YELLOW, RED, GREEN),  # bottom, left
    5: (RED, BLUE, GREEN, YELLOW),  # left, top
    6: (GREEN, YELLOW, RED, BLUE),  # right, top
    7: (YELLOW, GREEN, BLUE, RED),  # right, bottom
    8: (BLUE, RED, YELLOW, GREEN),  # left, bottom
}


def made(data: bytes, *widths: int) -> list[Encoded]:
    """The images of a file."""
    picture, sizes = largest(data, widths)
    return [encoded(picture, size) for size in sizes]


def exif(orientation: int) -> bytes:
    """EXIF with an orientation, and with the place where the picture was taken."""
    data = Image.Exif()
    data[ExifTags.Base.Orientation] = orientation
    data[ExifTags.Base.Model] = "a telephone"
    data.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitude] = (24.0, 42.0, 49.0)
    return data.tobytes()


def shows(data: bytes) -> list[tuple[int, ...]]:
    return corners(opened(data))


def same(found: list[tuple[int, ...]], expected: list[tuple[int, int, int]]) -> bool:
    return all(near(one, other, 16) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", WRITTEN)
def test_a_picture_is_upright_however_the_camera_was_held(orientation: int, kind: str) -> None:
    size = (1200, 800) if orientation < 5 else (800, 1200)
    data = saved(quarters(*size, WRITTEN[orientation]), kind, exif=exif(orientation), quality=90)
    small, large = made(data, 60, 300)
    assert (small.size, large.size) == ((60, 40), (300, 200))
    for image in (small, large):
        assert opened(image.data).size == image.size
        assert same(shows(image.data), UPRIGHT_QUARTERS)


@pytest.mark.parametrize("orientation", [0, 9, 700])
def test_an_orientation_that_there_is_not_leaves_the_picture_as_it_is(orientation: int) -> None:
    [image] = made(saved(quarters(), "JPEG", exif=exif(orientation), quality=90), 120)
    assert same(shows(image.data), UPRIGHT_QUARTERS)


def test_broken_exif_is_dropped_and_the_picture_is_made() -> None:
    [image] = made(saved(quarters(), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff broken", quality=90), 120)
    assert same(shows(image.data), UPRIGHT_QUARTERS)


@pytest.mark.parametrize("profiled", [True, False])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_nothing_is_left_of_what_a_file_says_about_itself(kind: str, *, profiled: bool) -> None:
    source = quarters()
    source.putalpha(200 if kind != "JPEG" else 255)
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    xmp = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>a secret</x:xmpmeta>"
    picture = source.convert("RGB") if kind == "JPEG" else source
    more = {"icc_profile": profile} if profiled else {}
    if kind == "JPEG":
        more["comment"] = b"a secret"
    data = saved(picture, kind, exif=exif(1), xmp=xmp, quality=90, **more)
    assert b"a telephone" in data
    [image] = made(data, 120)
    for trace in (b"a telephone", b"a secret", b"Exif", b"EXIF", b"ICCP", b"ICC_PROFILE", b"XMP", b"http"):
        assert trace not in image.data
    shown = opened(image.data)
    assert not shown.getexif()
    assert not {"icc_profile", "comment", "xmp", "exif"} & set(shown.info)


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


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_the_first_picture_of_an_animation_stands_for_it(kind: str) -> None:
    later = Image.new("RGB", (120, 80), (0, 0, 0))
    data = saved(quarters(), kind, save_all=True, append_images=[later, later], duration=100)
    [image] = made(data, 120)
    assert same(shows(image.data), UPRIGHT_QUARTERS)


def test_the_first_picture_of_a_telephones_jpeg_stands_for_it() -> None:
    later = Image.new("RGB", (240, 160), (0, 0, 0))
    data = saved(quarters(1200, 800), "MPO", save_all=True, append_images=[later], quality=90)
    assert opened(data).format == "MPO"
    [image] = made(data, 120)
    assert (image.size, image.extension) == ((120, 80), "jpg")
    assert same(shows(image.data), UPRIGHT_QUARTERS)


def test_the_content_decides_what_a_file_is_and_not_its_name_or_size() -> None:
    images = made(saved(quarters(100, 70), "PNG"), 40, 90, 100, 1920)
    assert [image.size for image in images] == [(40, 28), (90, 63), (100, 70)]


@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (3000, 1), (3, 2)])
def test_the_smallest_and_thinnest_pictures_are_made(size: Size) -> None:
    [image] = made(saved(Image.new("RGB", size, RED), "JPEG"), 640)
    assert near(corners(opened(image.data))[0], RED, 16)


def test_a_jpeg_is_decoded_at_a_fraction_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    data = saved(gradient(2000, 1500), "JPEG", quality=90)
    [fast] = made(data, 200)
    monkeypatch.setattr("PIL.JpegImagePlugin.JpegImageFile.draft", lambda *_: None)
    [slow] = made(data, 200)
    one, other = opened(fast.data), opened(slow.data)
    assert one.size == other.size == (200, 150)
    pairs = zip(one.resize((20, 15)).tobytes(), other.resize((20, 15)).tobytes(), strict=True)
    assert all(abs(a - b) <= 3 for a, b in pairs)


def test_the_same_file_makes_the_same_bytes() -> None:
    data = BytesIO(saved(quarters(), "JPEG")).getvalue()
    assert made(data, 60, 120) == made(data, 60, 120)
