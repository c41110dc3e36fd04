"""The watchdog's Lambda function: each minute it compares ledger and clock.

It lives in the database's network, which may have no way out. What it returns, Lambda hands to the dispatcher, which
is outside ("Capturing records of Lambda asynchronous invocations", on-success destination).
"""

import os
import time
from collections.abc import Mapping
from datetime import timedelta

import psycopg
from aws_lambda_powertools.logging import Logger

from handlers.guard.session import open_session
from handlers.queues.publish import Publisher
from handlers.runtime.database import connection_strings
from handlers.runtime.logs import open_log
from handlers.runtime.metrics import count_outbox, count_parents, count_watch
from handlers.runtime.pass_log import log_pass
from handlers.runtime.relay import log_relayed, relay
from handlers.runtime.retention import prune_some
from handlers.runtime.settings import read_settings
from handlers.runtime.tell import within_reach
from handlers.runtime.watch import watch
from handlers.schedule import SCHEDULE

# A pass ends within the minute; its statements are not waited for longer.
SESSION = timedelta(seconds=50)
# What is not sent by then (seconds), the next pass sends.
RELAY_UNTIL = 40.0


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Make a pass, whatever the event says, and return what is to be started and stopped, and of which lost runs the
    notifier is to tell.

    Raises the settings' and the database's errors: Lambda counts the invocation as failed, and its record goes to the
    dead-letter queue.
    """
    began = time.monotonic()
    settings = read_settings()
    log = open_log()
    session = open_session(connection_strings(settings.database), lease=SESSION, name="shiftlock watchdog")
    with session.connection as connection:
        off = os.environ.get("SHIFTLOCK_SCHEDULES_OFF", "").split(",")
        prune_some(connection, log)
        seen = watch(
            connection, SCHEDULE, environment=settings.environment, off=off, queues=settings.queues is not None
        )
        if settings.queues is not None:
            _relay(connection, settings.queues, settings.environment, log, ends_at=began + RELAY_UNTIL)
    log_pass(log, seen.made)
    count_parents(settings.environment, seen.made.settled, seen.made.waiting)
    count_watch(settings.environment, late=seen.late, lost=[(lost.job, lost.status) for lost in seen.made.lost])
    return seen.orders() | {"tell": within_reach(seen.tell, log)}


def _relay(connection: psycopg.Connection, queues: str, environment: str, log: Logger, *, ends_at: float) -> None:
    """Send what is left. What goes wrong with that keeps no run from its start, which is ordered already."""
    try:
        sent = relay(connection, Publisher(queues, SCHEDULE), SCHEDULE, ends_at=ends_at)
    except Exception:  # whatever it is
        log.exception("nothing relayed")
        return
    log_relayed(log, sent)
    count_outbox(environment, sent.oldest_age)
