"""Which sizes are made, and where they are written."""

import pytest

from handlers.jobs.images.sizes import image_key, sizes, source_id


def test_the_sizes_keep_the_proportions_and_go_from_narrow_to_wide() -> None:
    assert sizes((4000, 3000), (960, 320)) == [(320, 240), (960, 720)]


def test_nothing_is_made_wider_than_it_was_and_the_original_size_is_made_once() -> None:
    assert sizes((500, 400), (320, 500, 640, 1920)) == [(320, 256), (500, 400)]
    assert sizes((100, 50), (320, 640)) == [(100, 50)]


@pytest.mark.parametrize(
    ("original", "expected"), [((3000, 2), (300, 1)), ((3000, 1), (300, 1)), ((1, 3000), (1, 3000))]
)
def test_a_thin_picture_keeps_at_least_one_pixel(original: tuple[int, int], expected: tuple[int, int]) -> None:
    assert sizes(original, (300,)) == [expected]


def test_the_height_is_rounded_to_the_nearest_pixel() -> None:
    assert sizes((1000, 667), (500, 100)) == [(100, 67), (500, 334)]


def test_one_content_of_one_source_has_one_name_and_any_other_another() -> None:
    name = source_id("uploads/a.jpg", "e1")
    assert name == source_id("uploads/a.jpg", "e1")
    assert len({name, source_id("uploads/a.jpg", "e2"), source_id("uploads/b.jpg", "e1"), source_id("a", "1")}) == 4
    assert image_key(name, 320, "webp") == f"images/{name}/320.webp"
    assert len(name) == 32
