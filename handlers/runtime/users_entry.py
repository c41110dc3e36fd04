"""A new database's first run: `python -m handlers.runtime.users_entry`, as the database's master user.

Makes the users that migrations, jobs and people log in as. Any number of copies at once are safe.
"""

import os
import sys
from collections.abc import Mapping

import psycopg

from handlers.guard.connection import open_connection
from handlers.guard.errors import DatabaseUnavailable, one_line
from handlers.guard.users import make_users
from handlers.runtime.database import connection_strings
from handlers.runtime.iam_token import NoCredentials
from handlers.runtime.report import EXIT_BAD_INPUT, EXIT_CODES, Result
from handlers.runtime.settings import InvalidSettings, read_settings


def main(environ: Mapping[str, str] = os.environ) -> int:
    """Make the users, say what was done, and return the exit code."""
    try:
        connect = connection_strings(read_settings(environ).database)
        with open_connection(connect, name="shiftlock users", settings={}) as connection:
            done = make_users(connection)
    except (InvalidSettings, NoCredentials) as error:
        print(f"users: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except DatabaseUnavailable as error:
        print(f"users: {error}", file=sys.stderr)
        return EXIT_CODES[Result.UNAVAILABLE]
    except psycopg.Error as error:
        print(f"users: the database refused: {one_line(error)}; nothing was changed", file=sys.stderr)
        return EXIT_CODES[Result.FAILED]
    print(f"users: {', '.join(done) or 'all are as they should be'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
