"""The locked dependencies that ship as folders with bytecode, without Docker: for AWS, or for this machine.

They change with the lock alone. Once they are there, a changed job needs no network to be bundled.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

from infra.errors import InfraError
from infra.unused import UNUSED, WAY, prune

# arm64 is what runs on AWS; host runs on this machine with this Python, for the local AWS.
Platform = Literal["arm64", "host"]
# As in pyproject.toml: runtime is for Lambda and Fargate, tasks for Fargate alone and beside it.
Group = Literal["runtime", "tasks"]

ROOT = Path(__file__).parent.parent
RUNTIME_PYTHON = "3.13"
# Not manylinux2014: no wheel of today's psycopg-binary has that tag, and uv then takes an old version without a word.
# Lambda's Amazon Linux 2023 has glibc 2.34 and Debian 12 has 2.36.
RUNTIME_WHEELS = "aarch64-manylinux_2_28"
# The CDK command line asks its children for colours, and we read what uv writes.
PLAIN = ("--color", "never")


class BundleFailed(InfraError):
    """The bundle could not be built; the message is one line that says why and what to do."""


def packages_key(platform: Platform, python: Path | None) -> str:
    """Changes whenever the packages, or their bytecode by `python`, may."""
    digest = hashlib.sha256((ROOT / "uv.lock").read_bytes())
    digest.update(f"{platform} {UNUSED} {WAY} {RUNTIME_PYTHON} {RUNTIME_WHEELS} {python is not None}".encode())
    if platform == "host":
        digest.update(sys.version.encode())
    return digest.hexdigest()


def packages(platform: Platform, group: Group, folder: Path, python: Path | None) -> None:
    """Make `folder` the dependencies of a group, hashes checked; a no-op if it is.

    python: what writes the bytecode; None leaves it out. Raises BundleFailed.
    """
    stamp, key = folder.with_name(f"{folder.name}.key"), packages_key(platform, python)
    if folder.is_dir() and stamp.is_file() and stamp.read_text() == key:
        return
    stamp.unlink(missing_ok=True)
    draft = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        _install(draft, platform, group)
        prune(draft)
        if python is not None:
            compile_folder(draft, python)
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    stamp.write_text(key)


def compile_folder(folder: Path, python: Path) -> None:
    """Add bytecode. The folder is read-only where it runs, and file times do not survive: hashes, never checked."""
    command = [str(python), "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    # The paths in it are those of the folder, so that two builds are the same.
    run("compile the bundle", [*command, "-s", str(folder), str(folder)])


def compiler(platform: Platform) -> Path | None:
    """A Python that writes the bytecode `platform` reads; None when this machine has none."""
    if platform == "host":
        return Path(sys.executable)
    # A version that pyenv holds but has not activated answers only with PYENV_VERSION; elsewhere that means nothing.
    environment = os.environ | {"PYENV_VERSION": RUNTIME_PYTHON}
    command = [_uv(), *PLAIN, "python", "find", RUNTIME_PYTHON, "--no-project", "--no-python-downloads"]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def run(purpose: str, command: list[str], *, given: str | None = None) -> str:
    """The stdout of a command that gets `given` on stdin. Raises BundleFailed, with what it said on stderr."""
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=ROOT, check=False)
    except OSError as error:
        raise BundleFailed(f"cannot {purpose}: {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise BundleFailed(f"cannot {purpose}: {said[:500] or f'exit code {done.returncode}'}")
    return done.stdout


def _install(target: Path, platform: Platform, group: Group) -> None:
    uv = (_uv(), *PLAIN)
    requirements = run("read uv.lock", [*uv, "export", "--frozen", "--only-group", group, "--quiet"])
    wanted = ["--python-platform", RUNTIME_WHEELS, "--python-version", RUNTIME_PYTHON] if platform == "arm64" else []
    command = [*uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", str(target), *wanted]
    # Copies: files that are links into uv's cache would be changed there too.
    command += ["--link-mode", "copy", "--only-binary", ":all:", "--require-hashes", "--requirements", "-"]
    run(f"install the {group} dependencies (is the network there?)", command, given=requirements)


def _uv() -> str:
    local = ROOT / ".tools" / "bin" / "uv"
    found = os.environ.get("UV") or (str(local) if local.is_file() else shutil.which("uv"))
    if not found:
        raise BundleFailed("cannot build the bundle: no uv in UV, .tools/bin or PATH; run `make setup`")
    return found
