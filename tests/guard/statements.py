"""Every statement on the ledger that a package ships, found in its modules' constants."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import psycopg

STATEMENT = re.compile(r"\s*(select|insert|update|delete|with)\b")
PARAMETER = re.compile(r"%(?:\(\w+\))?s")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as it stands in its module; `name` says where."""

    name: str
    text: str

    def check(self, connection: psycopg.Connection) -> None:
        """Have it planned and all its privileges checked, and nothing done. Raises InsufficientPrivilege."""
        # Any value will do; only what is taken from a time could be a time or a span.
        text = PARAMETER.sub("null", self.text.replace("- %(", "- null::interval + %(")).replace("%%", "%")
        connection.execute(f"explain {text}".encode())


def statements(*packages: str) -> Iterator[Statement]:
    """Yield the statements on schema `shiftlock` of packages and modules."""
    for package in map(import_module, packages):
        for module in (package, *_modules(package)):
            for name, value in vars(module).items():
                if name.isupper() and isinstance(value, str) and STATEMENT.match(value) and "shiftlock." in value:
                    yield Statement(f"{module.__name__}.{name}", value)


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in walk_packages(getattr(package, "__path__", []), f"{package.__name__}."):
        yield import_module(found.name)
