"""How pictures come out: which way up, in which sizes, and with nothing of the file that they were in."""

from io import BytesIO

import pytest
from PIL import ExifTags, Image, ImageCms

from handlers.jobs.images.sizes import Size
from tests.jobs.images.pictures import (
    BLUE,
    GREEN,
    RED,
    UPRIGHT_QUARTERS,
    YELLOW,
    Colours,
    corners,
    gradient,
    made,
    near,
    opened,
    quarters,
    same,
    saved,
    shows,
)

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


def exif(orientation: int) -> bytes:
    """EXIF with an orientation, and with the place where the picture was taken."""
    data = Image.Exif()
    data[ExifTags.Base.Orientation] = orientation
    data[ExifTags.Base.Model] = "a telephone"
    data.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitude] = (24.0, 42.0, 49.0)
    return data.tobytes()


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
