"""What a consumer's cold start loads of this package needs no SDK."""

import pytest

from tests.runtime.test_imports import from_elsewhere, loaded_by


@pytest.mark.parametrize("module", ["message", "address", "verdict", "fitting", "publish", "payloads"])
def test_reading_and_judging_messages_needs_the_standard_library_alone(module: str) -> None:
    modules = loaded_by(f"import handlers.queues.{module}")
    assert from_elsewhere(modules) == set()
    assert [name for name in modules if name.startswith(("handlers.guard", "handlers.runtime", "handlers.jobs"))] == []
