"""The bundle: one folder with our code and its dependencies, from which both the Lambda zip and the image are made.

python -m infra.bundle [--platform host]
"""

import argparse
import fcntl
import hashlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from infra.packages import ROOT, RUNTIME_PYTHON, BundleFailed, Platform, compiler, packages, packages_key, run

FOLDER = ROOT / "build" / "bundle"
# Raise it when this file puts something else into the folder.
LAYOUT = "1"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A finished bundle. key changes whenever the content may have changed."""

    folder: Path
    key: str
    platform: Platform

    @property
    def size(self) -> int:
        """Bytes of all files, not compressed."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())


def ensure(platform: Platform = "arm64") -> Bundle:
    """The bundle for `platform`, built when sources, lock or tools have changed since the last time.

    Only a changed lock needs the network, for packages that uv has not cached. Raises BundleFailed.
    """
    python = compiler(platform)
    key = _key(platform, python)
    folder, stamp = FOLDER / platform, FOLDER / f"{platform}.key"
    with _alone(FOLDER / f"{platform}.lock"):
        if not (folder.is_dir() and stamp.is_file() and stamp.read_text() == key):
            stamp.unlink(missing_ok=True)
            _build(folder, platform, python)
            stamp.write_text(key)
    return Bundle(folder, key, platform)


def _build(folder: Path, platform: Platform, python: Path | None) -> None:
    installed, draft = FOLDER / f"{platform}.packages", FOLDER / f"{platform}.draft"
    packages(platform, installed)
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(installed, draft)
    for source in _sources():
        target = draft / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    shutil.copyfile(ROOT / "Dockerfile", draft / "Dockerfile")
    if python is not None:
        _compile(draft, python)
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)


def _compile(folder: Path, python: Path) -> None:
    """Add bytecode. The folder is read-only where it runs, and file times do not survive: hashes, never checked."""
    command = [str(python), "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    # The paths in it are those of the bundle, so that two builds are the same.
    run("compile the bundle", [*command, "-s", str(folder), str(folder)])


def _sources() -> list[Path]:
    """Every file under handlers that ships, in a fixed order."""
    files = (file for file in (ROOT / "handlers").rglob("*") if file.is_file())
    return sorted(file for file in files if "__pycache__" not in file.parts and file.suffix != ".pyc")


def _key(platform: Platform, python: Path | None) -> str:
    digest = hashlib.sha256(f"{LAYOUT} {packages_key(platform)} {python is not None}".encode())
    for file in [*_sources(), ROOT / "Dockerfile"]:
        digest.update(f"\0{file.relative_to(ROOT)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Keep a second build of the same bundle waiting."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Build the bundle and say where it is and how large."""
    parser = argparse.ArgumentParser(prog="python -m infra.bundle", description="Build what Lambda and Fargate run.")
    parser.add_argument("--platform", choices=get_args(Platform), default="arm64")
    platform: Platform = parser.parse_args().platform
    try:
        bundle = ensure(platform)
    except BundleFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{bundle.folder.relative_to(ROOT)}: {bundle.size / 1e6:.1f} MB, key {bundle.key[:12]}\n")
    if compiler(platform) is None:
        sys.stdout.write(
            f"no Python {RUNTIME_PYTHON} here to write bytecode: every cold start compiles (uv python install)\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
