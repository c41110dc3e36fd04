"""What the packages bring that no job can need: it would only be sent, stored and hashed."""

import shutil
from collections.abc import Iterator
from pathlib import Path

# A router of HTTP with a web page in it, launchers, tests, examples, what compilers read, records of the installation.
ANYWHERE = (
    "aws_lambda_powertools/event_handler",
    "bin",
    "**/tests",
    "**/*.pyi",
    "**/*.pyx",
    "**/*.pxd",
    "**/*.pxi",
    "botocore/data/**/examples-1.json",
    "**/*.dist-info/RECORD",
    "**/*.dist-info/INSTALLER",
    "**/*.dist-info/REQUESTED",
    ".lock",
)
# Arrow's own headers and sources, its RPC, its C++ tests, its S3 client (jobs have boto3) and Parquet's encryption.
# Its other libraries stay, the large ones too: libarrow_python is linked to all of them and is not loaded without.
OF_ARROW = (
    "pyarrow/include",
    "pyarrow/includes",
    "pyarrow/src",
    "pyarrow/*flight*",
    "pyarrow/_pyarrow_cpp_tests.*",
    "pyarrow/_s3fs.*",
    "pyarrow/libarrow_s3.*",
    "pyarrow/*parquet_encryption*",
)
UNUSED = (*ANYWHERE, *OF_ARROW)
# Raise it when prune takes away something else for the same patterns.
WAY = "1"


def prune(folder: Path) -> None:
    """Take away what matches UNUSED, and second names of one library."""
    for pattern in UNUSED:
        for path in list(folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for path in _second_names(folder / "pyarrow"):
        path.unlink()


def _second_names(folder: Path) -> Iterator[Path]:
    """Copies of a shared library under names that no loader asks for.

    A wheel has no links: libx.so, libx.so.1 and libx.so.1.2 are three files, of which modules are linked to the soname,
    libx.so.1.
    """
    for path in sorted(folder.glob("*.so.*")):
        stem, _, version = path.name.partition(".so.")
        if version.isdecimal():
            for other in (path.with_name(f"{stem}.so"), *sorted(folder.glob(f"{stem}.so.{version}.*"))):
                if other.is_file():
                    yield other
