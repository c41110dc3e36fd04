"""Which ledger the command line talks to: the one the environment names, else that of a running `make run`."""

import os
from collections.abc import Mapping
from pathlib import Path

from handlers.runtime.settings import PREFIX, Settings, read_settings
from ops.refused import Refused

PROJECT = Path(__file__).parents[1]
# Written by `make run` once its PostgreSQL takes connections.
LOCAL_URL = PROJECT / ".data" / "database-url"

URL = PREFIX + "DATABASE_URL"
DEFAULTS = {PREFIX + "ENVIRONMENT": "local"}


def configured(environ: Mapping[str, str] = os.environ, local_url: Path = LOCAL_URL) -> Settings | None:
    """The settings of the ledger, None when nothing names one. Raises InvalidSettings and Refused."""
    if not _named(environ):
        if not local_url.is_file():
            return None
        environ = {**environ, URL: local_url.read_text().strip()}
    settings = read_settings({**DEFAULTS, **environ})
    if url := environ.get(URL):
        _check(url, environ)
    return settings


def needed(environ: Mapping[str, str] = os.environ) -> Settings:
    """The same for a command that cannot do without. Raises Refused when nothing names a ledger."""
    settings = configured(environ)
    if settings is None:
        raise Refused(f"no database is named: set {URL}, or start a local one with `make run`")
    return settings


def remedy(environ: Mapping[str, str] = os.environ) -> str:
    """What to do when the ledger is out of reach."""
    if environ.get(URL):
        return f"check {URL}"
    if _named(environ):
        return f"check {PREFIX}DATABASE_HOST, and that its network lets this machine in"
    return f"`make run` starts it, or set {URL} to another"


def _named(environ: Mapping[str, str]) -> bool:
    return any(name.startswith(PREFIX + "DATABASE_") and value for name, value in environ.items())


def _check(url: str, environ: Mapping[str, str]) -> None:
    # Here, so that a command that needs no database loads no driver.
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo_to_dict(url)
    except ProgrammingError:
        # libpq's own words may quote a password.
        raise Refused(
            f"{URL} is no connection string: allowed is such as postgresql://user@host:5432/database"
        ) from None
