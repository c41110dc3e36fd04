"""The command line on this test's database, with what a job of the schedule needs there."""

from datetime import date
from pathlib import Path

import pytest

from ops import configured
from ops.cli import call
from ops.local.platform.load import load
from tests.ops.command import Done, Jobs


@pytest.fixture
def jobs_without_database(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Jobs:
    """`jobs` in this process, where nothing names a database."""
    for name in (configured.URL, configured.HOST):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(configured, "LOCAL_URL", tmp_path / "database-url")

    def jobs(*arguments: str) -> Done:
        capsys.readouterr()
        code = call(arguments)
        return Done(code, *capsys.readouterr())

    return jobs


@pytest.fixture
def jobs(jobs_without_database: Jobs, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """`jobs` in this process, on this test's database."""
    monkeypatch.setenv(configured.URL, database_url)
    return jobs_without_database


@pytest.fixture
def platform_url(database_url: str) -> str:
    """The URL of a database with a small restaurant platform, 27 and 28 November 2026."""
    load(database_url, date(2026, 11, 28), days=2, restaurants=5, orders_per_day=100)
    return database_url


@pytest.fixture
def well(jobs: Jobs) -> Jobs:
    """`jobs` on a database that has all it needs."""
    assert jobs("migrate").code == 0
    return jobs
