"""`jobs serve`: the clock in this process, on the configured ledger."""

import sys

from handlers.runtime.clock_entry import main
from handlers.runtime.settings import read_settings
from handlers.schedule import SCHEDULE
from ops.configured import needed_variables
from ops.reading import reading


def serve() -> int:
    """Start jobs as they fall due until SIGINT or SIGTERM; the exit code of the clock.

    The clock waits for a database that goes away. One that is not there to begin with is a mistake of the person who
    calls, and said at once. Raises Refused, InvalidSettings, NoCredentials, DatabaseUnavailable, SchemaTooOld.
    """
    environ = needed_variables()
    settings = read_settings(environ)
    with reading(settings):
        pass
    print(
        f"starting {len(SCHEDULE)} jobs of {settings.environment} as they fall due; "
        "Ctrl-C stops this, and running jobs at their next safe point",
        file=sys.stderr,
    )
    return main(environ)
