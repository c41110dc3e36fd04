"""Everything the runtime reads from its environment, as one frozen record."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import psycopg
from psycopg.conninfo import conninfo_to_dict

PREFIX = "SHIFTLOCK_"


class InvalidSettings(ValueError):
    """The environment lacks or garbles settings; the message names all of them."""

    def __init__(self, complaints: tuple[str, ...]) -> None:
        self.complaints = complaints
        super().__init__("bad settings: " + "; ".join(complaints))


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """A libpq connection string, as a laptop or a test has it."""

    url: str


@dataclass(frozen=True, slots=True)
class IamDatabase:
    """A database on AWS that takes a signed token instead of a password, over verified TLS."""

    host: str
    port: int
    name: str
    user: str
    region: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The runtime's settings.

    lease: how long a silent holder keeps its run. children: a clock's, at most, at once. queues: what the URLs of the
    queues begin with; None where there are none, and the ledger is the only queue. files: name of the bucket of files.
    """

    environment: str
    database: DatabaseUrl | IamDatabase
    lease: timedelta = timedelta(seconds=30)
    children: int = 8
    queues: str | None = None
    files: str | None = None


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings from `SHIFTLOCK_*` variables. Raises InvalidSettings with every complaint."""
    reader = _Reader(environ)
    environment = reader.text("ENVIRONMENT")
    lease = reader.number("LEASE_SECONDS", default=30, least=1, most=600)
    children = reader.number("CHILDREN", default=8, least=1, most=200)
    url = environ.get(PREFIX + "DATABASE_URL")
    database: DatabaseUrl | IamDatabase
    if url:
        database = DatabaseUrl(reader.url(url))
    else:
        database = IamDatabase(
            host=reader.text("DATABASE_HOST"),
            port=reader.number("DATABASE_PORT", default=5432, least=1, most=65535),
            name=reader.text("DATABASE_NAME"),
            user=reader.text("DATABASE_USER"),
            region=environ.get("AWS_REGION") or reader.missing("AWS_REGION"),
        )
    if reader.complaints:
        raise InvalidSettings(tuple(reader.complaints))
    queues, files = environ.get(PREFIX + "QUEUES") or None, environ.get(PREFIX + "FILES") or None
    return Settings(environment, database, timedelta(seconds=lease), children, queues, files)


class _Reader:
    """Reads variable by variable and remembers what was wrong."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.complaints: list[str] = []

    def text(self, name: str) -> str:
        return self._environ.get(PREFIX + name) or self.missing(PREFIX + name)

    def number(self, name: str, *, default: int, least: int, most: int) -> int:
        given = self._environ.get(PREFIX + name, str(default))
        if given.isascii() and given.isdecimal() and least <= int(given) <= most:
            return int(given)
        self.complaints.append(f"{PREFIX}{name} is {given!r}: allowed is a whole number from {least} to {most}")
        return default

    def url(self, given: str) -> str:
        try:
            conninfo_to_dict(given)
        except psycopg.ProgrammingError:
            # Neither the URL nor libpq's own message is shown: both may hold the password.
            self.complaints.append(
                f"{PREFIX}DATABASE_URL is no libpq connection string: allowed is such as "
                "postgresql://user@host:5432/name, with special characters as %XX"
            )
        return given

    def missing(self, variable: str) -> str:
        hint = f" (or {PREFIX}DATABASE_URL instead of all DATABASE settings)" if "DATABASE_HOST" in variable else ""
        self.complaints.append(f"{variable} is not set{hint}")
        return ""
