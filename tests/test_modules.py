"""A module is read in one sitting."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_LINES = 250


def test_no_module_has_more_than_250_lines() -> None:
    modules = [
        path for folder in ("handlers", "infra", "ops", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")
    ]
    assert len(modules) > 500
    assert [str(path) for path in modules if path.read_bytes().count(b"\n") > MOST_LINES] == []
