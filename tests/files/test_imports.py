"""What a start pays for files that it does not touch."""

from tests.runtime.test_imports import from_elsewhere, loaded_by


def test_the_bucket_loads_nothing_but_the_standard_library_before_it_is_opened() -> None:
    assert from_elsewhere(loaded_by("import handlers.files.bucket")) == set()
