"""Bring the ledger up to date and register every job: `python -m handlers.runtime.migrate_entry`.

Runs as a task of the same image before the jobs are deployed. Any number of copies at once are safe.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg

from handlers.guard.connection import open_connection
from handlers.guard.errors import DatabaseUnavailable, LockKeyCollision, one_line
from handlers.guard.lock import register
from handlers.guard.migrate import migrate
from handlers.guard.roles import shortcomings
from handlers.runtime.database import connection_strings
from handlers.runtime.iam_token import NoCredentials
from handlers.runtime.report import EXIT_BAD_INPUT, EXIT_CODES, Result
from handlers.runtime.settings import InvalidSettings, Settings, read_settings
from handlers.schedule import SCHEDULE

# Neither out of reach nor broken: a new server, whose first run has not been.
EXIT_NOT_LET_IN = 77
# What PostgreSQL and the PAM module of RDS say to a user that is not there, or not as it should be. The client library
# hands on no code of a refused connection, only these words.
NOT_LET_IN = re.compile(r'authentication failed|role ".*" (does not exist|is not permitted to log in)')


@dataclass(frozen=True, slots=True)
class Migrated:
    """What was done: names of the migrations applied, how many jobs were new, and what is amiss with the roles."""

    applied: tuple[str, ...]
    registered: int
    shortcomings: tuple[str, ...]


def main(environ: Mapping[str, str] = os.environ) -> int:
    """Migrate, say what was done, and return the exit code."""
    try:
        done = bring_up_to_date(read_settings(environ))
    except (InvalidSettings, NoCredentials, LockKeyCollision) as error:
        print(f"migrate: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except DatabaseUnavailable as error:
        print(f"migrate: {error}", file=sys.stderr)
        return exit_code_of(str(error))
    except psycopg.errors.InsufficientPrivilege as error:
        print(f"migrate: the database does not allow it: {one_line(error)}; nothing was changed", file=sys.stderr)
        return EXIT_NOT_LET_IN
    except psycopg.Error as error:
        print(f"migrate: the database refused: {one_line(error)}; nothing was changed", file=sys.stderr)
        return EXIT_CODES[Result.FAILED]
    for shortcoming in done.shortcomings:
        print(f"migrate: {shortcoming}", file=sys.stderr)
    applied = ", ".join(done.applied) or "nothing"
    print(f"migrate: applied {applied}, registered {done.registered} new jobs of {len(SCHEDULE)}")
    return 0


def exit_code_of(refusal: str) -> int:
    """Whether a connection that came to nothing was turned away for its user, or the database is away."""
    return EXIT_NOT_LET_IN if NOT_LET_IN.search(refusal) else EXIT_CODES[Result.UNAVAILABLE]


def bring_up_to_date(settings: Settings) -> Migrated:
    """Apply what is missing, register what is new, and settle who may do what.

    Raises DatabaseUnavailable, LockKeyCollision, psycopg.Error.
    """
    connect = connection_strings(settings.database)
    with open_connection(connect, name="shiftlock migrate", settings={}) as connection:
        applied = tuple(migrate(connection))
        registered = register(connection, [job.name for job in SCHEDULE])
        return Migrated(applied, registered, tuple(shortcomings(connection)))


if __name__ == "__main__":
    sys.exit(main())
