"""Bring the ledger up to date and register every job: `python -m handlers.runtime.migrate_entry`.

Runs as a task of the same image before the jobs are deployed. Any number of copies at once are safe.
"""

import os
import sys
from collections.abc import Mapping

import psycopg

from handlers.guard.connection import open_connection
from handlers.guard.errors import DatabaseUnavailable, LockKeyCollision, one_line
from handlers.guard.lock import register
from handlers.guard.migrate import migrate
from handlers.runtime.database import connection_strings
from handlers.runtime.iam_token import NoCredentials
from handlers.runtime.report import EXIT_BAD_INPUT, EXIT_CODES, Result
from handlers.runtime.settings import InvalidSettings, Settings, read_settings
from handlers.schedule import SCHEDULE


def main(environ: Mapping[str, str] = os.environ) -> int:
    """Migrate, say what was done, and return the exit code."""
    try:
        applied, registered = bring_up_to_date(read_settings(environ))
    except (InvalidSettings, NoCredentials, LockKeyCollision) as error:
        print(f"migrate: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except DatabaseUnavailable as error:
        print(f"migrate: {error}", file=sys.stderr)
        return EXIT_CODES[Result.UNAVAILABLE]
    except psycopg.Error as error:
        print(f"migrate: the database refused: {one_line(error)}; nothing was changed", file=sys.stderr)
        return EXIT_CODES[Result.FAILED]
    print(f"migrate: applied {', '.join(applied) or 'nothing'}, registered {registered} new jobs of {len(SCHEDULE)}")
    return 0


def bring_up_to_date(settings: Settings) -> tuple[list[str], int]:
    """Names of the migrations applied, and how many jobs were new to the ledger.

    Raises DatabaseUnavailable, LockKeyCollision, psycopg.Error.
    """
    connect = connection_strings(settings.database)
    with open_connection(connect, name="shiftlock migrate", settings={}) as connection:
        return migrate(connection), register(connection, [job.name for job in SCHEDULE])


if __name__ == "__main__":
    sys.exit(main())
