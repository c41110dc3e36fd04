"""The watchdog's Lambda function: each minute it compares ledger and clock.

It lives in the database's network, which may have no way out. What it returns, Lambda hands to the dispatcher, which
is outside ("Capturing records of Lambda asynchronous invocations", on-success destination).
"""

import os
from collections.abc import Mapping
from datetime import timedelta

from handlers.guard.session import open_session
from handlers.runtime.database import connection_strings
from handlers.runtime.logs import open_log
from handlers.runtime.metrics import count_watch
from handlers.runtime.pass_log import log_pass
from handlers.runtime.retention import prune_some
from handlers.runtime.settings import read_settings
from handlers.runtime.tell import within_reach
from handlers.runtime.watch import watch
from handlers.schedule import SCHEDULE

# A pass ends within the minute; its statements are not waited for longer.
SESSION = timedelta(seconds=50)


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Make a pass, whatever the event says, and return what is to be started and stopped, and of which lost runs the
    notifier is to tell.

    Raises the settings' and the database's errors: Lambda counts the invocation as failed, and its record goes to the
    dead-letter queue.
    """
    settings = read_settings()
    log = open_log()
    session = open_session(connection_strings(settings.database), lease=SESSION, name="shiftlock watchdog")
    with session.connection as connection:
        off = os.environ.get("SHIFTLOCK_SCHEDULES_OFF", "").split(",")
        prune_some(connection, log)
        seen = watch(connection, SCHEDULE, environment=settings.environment, off=off)
    log_pass(log, seen.made)
    count_watch(settings.environment, late=seen.late, lost=[(lost.job, lost.status) for lost in seen.made.lost])
    return seen.orders() | {"tell": within_reach(seen.tell, log)}
