"""The folders that Lambda and Fargate run."""

import os
import re
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


# A decimal, a time and a text through the parts of Arrow that ship, and clients of the services that jobs use.
PARQUET = """
import io, datetime, decimal, boto3, handlers.jobs.weekly_export
import pyarrow as pa, pyarrow.compute as pc, pyarrow.csv, pyarrow.parquet as pq
schema = pa.schema([("total", pa.decimal128(22, 3)), ("at", pa.timestamp("us", tz="UTC")), ("name", pa.string())])
at = datetime.datetime(2026, 11, 29, tzinfo=datetime.UTC)
table = pa.table([[decimal.Decimal("12.34"), None], [at, None], ["x", None]], schema=schema)
with pq.ParquetWriter(sink := io.BytesIO(), schema, compression="zstd") as writer:
    writer.write_table(table)
assert pq.read_table(io.BytesIO(sink.getvalue())) == table
clients = [boto3.client(name, region_name="eu-central-1").meta.service_model.service_name for name in ("s3", "sqs")]
print(pa.__file__, pc.sum(table["total"]), *clients)
"""


def files(folder: Path) -> set[str]:
    """Relative paths of all files but bytecode."""
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"}


def take_packages(made: bundle.Bundle, place: Path) -> None:
    """Copy the installed packages of a bundle, so that another can be made of them at `place`."""
    for part in (f"{made.platform}.runtime", f"{made.platform}.tasks"):
        shutil.copytree(made.folder.with_name(part), place / part)
        shutil.copyfile(made.folder.with_name(f"{part}.key"), place / f"{part}.key")


def alone(folder: Path, code: str) -> list[str]:
    """What this Python prints for `code` with nothing but the folder and the standard library, word by word."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=folder,
        env={"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_the_zip_holds_all_of_handlers_and_what_they_need_and_nothing_of_ours_besides(arm64: bundle.Bundle) -> None:
    held = files(arm64.folder)
    ours = {f"handlers/{name}" for name in files(ROOT / "handlers")}
    assert {name for name in held if name.startswith("handlers/")} == ours
    assert {"handlers/runtime/rds-global-bundle.pem", "psycopg/__init__.py"} <= held
    tops = {name.split("/")[0] for name in held}
    assert not tops & {"boto3", "botocore", "pyarrow", "Dockerfile", "aws_cdk", "infra", "ops", "tests", "bin"}


def test_the_image_has_all_of_the_zip_and_beside_it_what_only_tasks_use(arm64: bundle.Bundle) -> None:
    zipped, shipped = files(arm64.folder), files(arm64.image)
    assert zipped < shipped
    more = {name.split("/")[0] for name in shipped - zipped if ".dist-info/" not in name}
    assert {"Dockerfile", "boto3", "botocore", "pyarrow"} <= more
    assert not more & {"aws_cdk", "infra", "ops", "tests", "bin", "ministack", "moto"}


@pytest.mark.parametrize("folder", ["folder", "image"])
def test_the_bundle_for_aws_is_for_arm(arm64: bundle.Bundle, folder: str) -> None:
    libraries = [file for file in getattr(arm64, folder).rglob("*.so*") if file.is_file()]
    assert libraries
    # ELF header, e_machine: 0xB7 is AArch64.
    assert {file.read_bytes()[18] for file in libraries} == {0xB7}


def test_what_is_sent_to_aws_is_small(arm64: bundle.Bundle, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "bundle"), "zip", arm64.folder)
    # 50 MB is what Lambda takes without S3, and 250 MB what it unpacks.
    assert Path(archive).stat().st_size < 22_000_000
    assert bundle.size(arm64.folder) < 60_000_000
    assert bundle.size(arm64.image) < 180_000_000


def test_the_zip_for_this_machine_runs_alone_with_this_python(host: bundle.Bundle) -> None:
    code = (
        "import psycopg, aws_lambda_powertools.metrics, handlers.schedule; print(psycopg.__file__, psycopg.pq.__impl__)"
    )
    assert alone(host.folder, code) == [str(host.folder / "psycopg" / "__init__.py"), "binary"]


def test_the_image_for_this_machine_writes_and_reads_parquet_and_has_an_sdk(host: bundle.Bundle) -> None:
    assert alone(host.image, PARQUET) == [str(host.image / "pyarrow" / "__init__.py"), "12.340", "s3", "sqs"]


def test_every_library_that_a_shipped_module_of_arrow_is_linked_to_is_shipped(arm64: bundle.Bundle) -> None:
    folder = arm64.image / "pyarrow"
    libraries = {file.name: file.read_bytes() for file in folder.glob("*.so*")}
    # The string table of an ELF file has its needed libraries and its own name, each between two zero bytes.
    linked = re.compile(rb"(?<=\0)lib(?:arrow|parquet)[\w]*\.so\.\d+(?=\0)")
    named = {name.decode() for data in libraries.values() for name in linked.findall(data)}
    assert len(named) > 1
    assert named <= libraries.keys()


def test_a_zip_too_large_for_lambda_is_refused_in_one_line(
    host: bundle.Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_packages(host, tmp_path)
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    monkeypatch.setattr(bundle, "LARGEST_ZIP", 10_000_000)
    with pytest.raises(
        BundleFailed, match=r"^the Lambda zip is \d+ MB unpacked, and may be 10 MB: move what .* group tasks"
    ):
        ensure("host")
    assert not (tmp_path / "host.key").exists()


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
    # All of the zip is in the image.
    for file in sorted(host.image.rglob("*")):
        if file.is_file():
            assert (again.image / file.relative_to(host.image)).read_bytes() == file.read_bytes(), file


def test_a_changed_job_is_bundled_without_the_network(
    host: bundle.Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_packages(host, tmp_path)
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    monkeypatch.setenv("UV", "/nowhere/uv")
    again = ensure("host")
    assert (files(again.folder), files(again.image)) == (files(host.folder), files(host.image))


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
