"""Synthesise the stacks: `cdk deploy -c env=dev` calls it, and `python app.py -c env=dev` works without the CLI."""

import argparse
import os
import sys
from pathlib import Path

from handlers.declaration.catalogue import InvalidSchedule
from infra.errors import InfraError
from infra.node import use_bundled_node

DEFAULT_OUTPUT = Path("cdk.out")


def main() -> int:
    """Write the cloud assembly to CDK_OUTDIR or cdk.out; 1 with one line on stderr when something is wrong."""
    parser = argparse.ArgumentParser(prog="app.py", description="Synthesise the stacks of Shiftlock.")
    parser.add_argument(
        "-c", "--context", action="append", default=[], metavar="KEY=VALUE", help="env=dev, platform=host (arm64)"
    )
    parser.add_argument("--output", type=Path, help="folder of the cloud assembly (cdk.out)")
    given = parser.parse_args()
    context = dict(pair.partition("=")[::2] for pair in given.context)
    outdir = given.output or (None if "CDK_OUTDIR" in os.environ else DEFAULT_OUTPUT)
    try:
        use_bundled_node()
        from infra.assembly import synthesise  # aws_cdk starts node as soon as it is imported

        synthesise(context, outdir)
    except (InfraError, InvalidSchedule) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
