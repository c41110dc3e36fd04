"""All jobs without EventBridge: `python -m handlers.runtime.clock_entry`, on one machine or as an ECS service.

Exits with 0 after SIGTERM or SIGINT, once the jobs it runs have reached a safe point.
"""

import os
import sys
from collections.abc import Mapping

from handlers.guard.errors import GuardError, SchemaTooOld
from handlers.planning.sweep import Pass
from handlers.runtime.children import Children, Command, task_entry
from handlers.runtime.clock import Clock
from handlers.runtime.database import connection_strings
from handlers.runtime.iam_token import NoCredentials
from handlers.runtime.logs import open_log
from handlers.runtime.metrics import count_parents, count_pass
from handlers.runtime.report import EXIT_BAD_INPUT, EXIT_CODES, EXIT_SCHEMA_TOO_OLD, Result
from handlers.runtime.settings import InvalidSettings, read_settings
from handlers.runtime.task_entry import stop_on_signal
from handlers.schedule import SCHEDULE


def main(environ: Mapping[str, str] = os.environ, command: Command = task_entry) -> int:
    """Run the clock until it is told to stop, and return the exit code. command: what a job's process is."""
    try:
        settings = read_settings(environ)
        clock = Clock(
            connect=connection_strings(settings.database),
            catalogue=SCHEDULE,
            children=Children(environ, settings.children, command),
            log=open_log(),
            stop=stop_on_signal(),
            on_pass=lambda made: _count(settings.environment, made),
        )
        clock.serve()
    except (InvalidSettings, NoCredentials) as error:
        print(f"clock_entry: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except SchemaTooOld as error:
        print(f"clock_entry: {error}", file=sys.stderr)
        return EXIT_SCHEMA_TOO_OLD
    except GuardError as error:
        print(f"clock_entry: {error}", file=sys.stderr)
        return EXIT_CODES[Result.UNAVAILABLE]
    return 0


def _count(environment: str, made: Pass) -> None:
    count_pass(environment)
    count_parents(environment, made.settled, made.waiting)


if __name__ == "__main__":
    sys.exit(main())
