"""The folder that Lambda and Fargate run."""

import os
import shutil
import ssl
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from infra import bundle
from infra.bundle import ensure
from infra.packages import ROOT, BundleFailed


@pytest.fixture(scope="module")
def arm64() -> bundle.Bundle:
    """The bundle for AWS."""
    return ensure("arm64")


@pytest.fixture(scope="module")
def host() -> bundle.Bundle:
    """The bundle for this machine."""
    return ensure("host")


def files(folder: Path) -> set[str]:
    """Relative paths of all files but bytecode."""
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"}


def test_the_bundle_holds_all_of_handlers_and_what_they_need_and_nothing_of_ours_besides(
    arm64: bundle.Bundle,
) -> None:
    held = files(arm64.folder)
    ours = {f"handlers/{name}" for name in files(ROOT / "handlers")}
    assert {name for name in held if name.startswith("handlers/")} == ours
    assert {"handlers/runtime/rds-global-bundle.pem", "Dockerfile", "psycopg/__init__.py"} <= held
    tops = {name.split("/")[0] for name in held}
    assert not tops & {"boto3", "botocore", "aws_cdk", "infra", "ops", "tests", "bin"}


def test_the_bundle_for_aws_is_for_arm_and_small(arm64: bundle.Bundle, tmp_path: Path) -> None:
    libraries = [file for file in arm64.folder.rglob("*.so*") if file.is_file()]
    assert libraries
    # ELF header, e_machine: 0xB7 is AArch64.
    assert {file.read_bytes()[18] for file in libraries} == {0xB7}
    archive = shutil.make_archive(str(tmp_path / "bundle"), "zip", arm64.folder)
    assert Path(archive).stat().st_size < 10_000_000


def test_the_bundle_for_this_machine_runs_alone_with_this_python(host: bundle.Bundle) -> None:
    code = (
        "import psycopg, aws_lambda_powertools.metrics, handlers.schedule; print(psycopg.__file__, psycopg.pq.__impl__)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=host.folder,
        env={"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(host.folder / "psycopg" / "__init__.py"), "binary"]


def test_bytecode_is_used_without_a_look_at_the_source(host: bundle.Bundle) -> None:
    compiled = list((host.folder / "handlers").rglob("*.pyc"))
    assert compiled
    # PEP 552: bit 0 of the flags is "hash", bit 1 is "check the source".
    assert {int.from_bytes(file.read_bytes()[4:8], "little") for file in compiled} == {0b01}


def test_an_unchanged_bundle_is_not_built_again(host: bundle.Bundle) -> None:
    before = host.folder.stat()
    assert ensure("host") == host
    after = host.folder.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_two_builds_of_the_same_sources_are_the_same_whoever_starts_them(
    host: bundle.Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    # As the CDK command line does.
    monkeypatch.setenv("FORCE_COLOR", "3")
    again = ensure("host")
    assert again.key == host.key
    for file in sorted(host.folder.rglob("*")):
        if file.is_file():
            assert (again.folder / file.relative_to(host.folder)).read_bytes() == file.read_bytes(), file


def test_a_changed_job_is_bundled_without_the_network(
    host: bundle.Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("host.packages", "host.packages.key"):
        source = host.folder.with_name(part)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, tmp_path / part)
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    monkeypatch.setenv("UV", "/nowhere/uv")
    assert files(ensure("host").folder) == files(host.folder)


def test_a_build_that_fails_says_why_in_one_line_and_leaves_no_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "empty"))
    with pytest.raises(BundleFailed) as failed:
        ensure("host")
    assert str(failed.value).startswith("cannot install the runtime dependencies")
    assert "\n" not in str(failed.value)
    assert [path.name for path in tmp_path.glob("host*")] == ["host.lock"]


def test_a_uv_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    monkeypatch.setenv("UV", "/nowhere/uv")
    with pytest.raises(BundleFailed, match="/nowhere/uv: No such file"):
        ensure("host")


def test_the_certificate_authorities_of_rds_can_be_loaded_and_are_good_for_a_year() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ROOT / "handlers" / "runtime" / "rds-global-bundle.pem")
    authorities = context.get_ca_certs()
    assert len(authorities) == 81
    ends = [ssl.cert_time_to_seconds(str(each["notAfter"])) for each in authorities]
    assert min(ends) > datetime.now(UTC).timestamp() + 365 * 24 * 3600
