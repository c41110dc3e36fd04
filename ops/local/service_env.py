"""What a service needs in its environment to publish to the queues of a running `make run`, as a file for a shell."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written(path: Path, variables: Mapping[str, str]) -> Iterator[str]:
    """Keep the file there for the time of the block; yield the command that reads it, for the folder one is in."""
    path.write_text("".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(variables.items())))
    try:
        yield f". {shlex.quote(str(_from_here(path)))}"
    finally:
        path.unlink(missing_ok=True)


def _from_here(path: Path) -> Path:
    with suppress(ValueError):
        return path.relative_to(Path.cwd())
    return path
