"""Which ledger the command line talks to: the one the environment names, else that of a running `make run`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ops.refused import Refused

if TYPE_CHECKING:
    from handlers.runtime.settings import Settings

PROJECT = Path(__file__).parents[1]
# Written by `make run` once its PostgreSQL takes connections.
LOCAL_URL = PROJECT / ".data" / "database-url"

URL = "SHIFTLOCK_DATABASE_URL"
HOST = "SHIFTLOCK_DATABASE_HOST"
ANY = "SHIFTLOCK_DATABASE_"


def configured(environ: Mapping[str, str] = os.environ) -> Settings | None:
    """The settings of the ledger, None when nothing names one. Raises InvalidSettings."""
    found = _variables(environ)
    return None if found is None else _read(found)


def needed(environ: Mapping[str, str] = os.environ) -> Settings:
    """The same for a command that cannot do without. Raises InvalidSettings, and Refused when nothing names one."""
    return _read(needed_variables(environ))


def needed_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The same as the environment of a process, unread. Raises Refused when nothing names one."""
    found = _variables(environ)
    if found is None:
        raise Refused(f"no database is named: set {URL}, or start a local one with `make run`")
    return found


def remedy(environ: Mapping[str, str] = os.environ) -> str:
    """What to do when the ledger is out of reach."""
    if environ.get(URL):
        return f"check {URL}"
    if _named(environ):
        return f"check {HOST}, and that its network lets this machine in"
    return f"`make run` starts it, or set {URL} to another"


def _variables(environ: Mapping[str, str]) -> dict[str, str] | None:
    found = {"SHIFTLOCK_ENVIRONMENT": "local", **environ}
    if not _named(environ):
        if not LOCAL_URL.is_file():
            return None
        found[URL] = LOCAL_URL.read_text().strip()
    return found


def _read(environ: Mapping[str, str]) -> Settings:
    # Only here: reading them loads the database driver.
    from handlers.runtime.settings import read_settings

    return read_settings(environ)


def _named(environ: Mapping[str, str]) -> bool:
    return any(name.startswith(ANY) and value for name, value in environ.items())
