"""The one error of the local PostgreSQL."""

from pathlib import Path


class LocalPostgresError(Exception):
    """The local PostgreSQL cannot be used. The message is one line: what happened, where, and what to do."""

    def __init__(self, what: str, *, where: Path, remedy: str) -> None:
        self.what = " ".join(what.split())
        self.where = where
        self.remedy = remedy
        super().__init__(f"PostgreSQL in {str(where)!r}: {self.what}; {remedy}")
