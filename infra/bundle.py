"""The bundle: our code and its dependencies, in one folder for the Lambda zip and one for the image.

The image has beside all of the zip what only jobs on Fargate use, for which Lambda has no room.

python -m infra.bundle [--platform host]
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from infra.packages import (
    ROOT,
    RUNTIME_PYTHON,
    BundleFailed,
    Platform,
    compile_folder,
    compiler,
    packages,
    packages_key,
)

FOLDER = ROOT / "build" / "bundle"
# Raise it when this file puts something else into the folder.
LAYOUT = "2"
# Unpacked, layers included (AWS Lambda Developer Guide, "Lambda quotas"). Less a tenth, so that it is seen to come.
LARGEST_ZIP = 225 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bundle:
    """A finished bundle. key changes whenever the content may have changed.

    folder: what Lambda runs. image: what Fargate runs, with the Dockerfile that makes an image of it.
    """

    folder: Path
    image: Path
    key: str
    platform: Platform


def ensure(platform: Platform = "arm64") -> Bundle:
    """The bundle for `platform`, built when sources, lock or tools have changed since the last time.

    Only a changed lock needs the network, for packages that uv has not cached. Raises BundleFailed.
    """
    python = compiler(platform)
    key = _key(platform, python)
    bundle = Bundle(FOLDER / platform, FOLDER / f"{platform}.image", key, platform)
    stamp = FOLDER / f"{platform}.key"
    with _alone(FOLDER / f"{platform}.lock"):
        if not (bundle.folder.is_dir() and bundle.image.is_dir() and stamp.is_file() and stamp.read_text() == key):
            stamp.unlink(missing_ok=True)
            _build(bundle, python)
            stamp.write_text(key)
    return bundle


def size(folder: Path) -> int:
    """Bytes of all files in a folder, not compressed."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _build(bundle: Bundle, python: Path | None) -> None:
    runtime, tasks = FOLDER / f"{bundle.platform}.runtime", FOLDER / f"{bundle.platform}.tasks"
    packages(bundle.platform, "runtime", runtime, python)
    packages(bundle.platform, "tasks", tasks, python)
    ours = FOLDER / f"{bundle.platform}.handlers"
    shutil.rmtree(ours, ignore_errors=True)
    for source in _sources():
        target = ours / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    if python is not None:
        compile_folder(ours, python)
    _join(bundle.folder, [runtime, ours])
    _check_room(bundle.folder)
    shutil.copyfile(ROOT / "Dockerfile", ours / "Dockerfile")
    # The lock is one resolution: what both groups need is the same in both.
    _join(bundle.image, [runtime, tasks, ours])
    shutil.rmtree(ours)


def _join(folder: Path, parts: list[Path]) -> None:
    """Make `folder` all of `parts`. Its files are links to theirs: nothing ever writes into either of them."""
    draft = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    for part in parts:
        shutil.copytree(part, draft, copy_function=_link, dirs_exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)


def _link(source: str, target: str) -> None:
    Path(target).unlink(missing_ok=True)
    os.link(source, target)


def _check_room(folder: Path) -> None:
    if (taken := size(folder)) > LARGEST_ZIP:
        raise BundleFailed(
            f"the Lambda zip is {taken / 1e6:.0f} MB unpacked, and may be {LARGEST_ZIP / 1e6:.0f} MB: "
            "move what only jobs on Fargate need to the dependency group tasks in pyproject.toml"
        )


def _sources() -> list[Path]:
    """Every file under handlers that ships, in a fixed order."""
    files = (file for file in (ROOT / "handlers").rglob("*") if file.is_file())
    return sorted(file for file in files if "__pycache__" not in file.parts and file.suffix != ".pyc")


def _key(platform: Platform, python: Path | None) -> str:
    digest = hashlib.sha256(f"{LAYOUT} {packages_key(platform, python)}".encode())
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
    """Build the bundle and say where its folders are and how large."""
    parser = argparse.ArgumentParser(prog="python -m infra.bundle", description="Build what Lambda and Fargate run.")
    parser.add_argument("--platform", choices=get_args(Platform), default="arm64")
    platform: Platform = parser.parse_args().platform
    try:
        bundle = ensure(platform)
    except BundleFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for what, folder in (("zip", bundle.folder), ("image", bundle.image)):
        sys.stdout.write(f"{folder.relative_to(ROOT)} ({what}): {size(folder) / 1e6:.1f} MB, key {bundle.key[:12]}\n")
    if compiler(platform) is None:
        sys.stdout.write(
            f"no Python {RUNTIME_PYTHON} here to write bytecode: every cold start compiles (uv python install)\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
