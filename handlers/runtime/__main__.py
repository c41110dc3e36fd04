"""What the image does when it is started without a command of its own: `python -m handlers.runtime`.

SHIFTLOCK_ROLE=clock makes it the clock; without a role it runs the job that its argument names.
"""

import os
import sys
from collections.abc import Mapping

from handlers.runtime.report import EXIT_BAD_INPUT


def main(arguments: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Do what the role says, and return the exit code of that."""
    role = environ.get("SHIFTLOCK_ROLE", "")
    # An entry loads what it needs: only the one that is wanted is imported.
    if role == "clock" and not arguments:
        from handlers.runtime import clock_entry

        return clock_entry.main(environ)
    if role == "":
        from handlers.runtime import task_entry

        return task_entry.main(arguments, environ)
    given = f"SHIFTLOCK_ROLE is {role!r}" + (f" and the argument {' '.join(arguments)!r}" if arguments else "")
    sys.stderr.write(f"handlers.runtime: {given}: allowed is clock without an argument, or no role and a job's name\n")
    return EXIT_BAD_INPUT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
