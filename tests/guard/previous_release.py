"""The guard's statements as the previous release has them: they run on for a while after its successor has migrated.

`python -m tests.guard.previous_release REVISION` writes them anew, at each release, from the release before.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.guard.statements import STATEMENT, Statement

KEPT = Path(__file__).with_name("previous_release.sql")
GUARD = "handlers/guard"
# What only migrations run; those of an older release do not run on a newer schema.
OWNERS = ("migrate", "roles", "users")
TITLE = "-- statement: "


def previous_release() -> dict[str, Statement]:
    """The statements by the name of their constant."""
    _, *parts = KEPT.read_text().split(TITLE)
    titled = [part.partition("\n") for part in parts]
    return {title.rpartition(".")[2]: Statement(title, text) for title, _, text in titled}


def statements_at(revision: str) -> Iterator[tuple[str, str]]:
    """Yield `module.CONSTANT` and text of every statement on the ledger that the guard had at a git revision."""
    for path in _git("ls-tree", "--name-only", revision, f"{GUARD}/").splitlines():
        module = Path(path).stem
        if path.endswith(".py") and module not in OWNERS:
            for node in ast.parse(_git("show", f"{revision}:{path}")).body:
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                        if STATEMENT.match(text) and "shiftlock." in text:
                            yield f"{module}.{name}", text.strip("\n")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    revision = _git("rev-parse", "--short", sys.argv[1]).strip()
    head = f"-- What the guard of {revision} asks of the ledger. Written by tests/guard/previous_release.py.\n"
    KEPT.write_text(head + "".join(f"\n{TITLE}{title}\n{text}\n" for title, text in statements_at(revision)))
