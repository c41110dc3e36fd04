"""How long finished runs are kept; a pass never fails for what is old."""

from datetime import UTC, datetime

import psycopg
from aws_lambda_powertools.logging import Logger

from handlers.declaration.duration import hours
from handlers.guard.errors import one_line
from handlers.planning.prune import prune

# A little over a year, so that what is done yearly is there to compare with.
KEPT = hours(24 * 400)


def prune_some(connection: psycopg.Connection, log: Logger) -> None:
    """Delete a batch of what finished longer ago; what goes wrong with that is told, and tried again next time."""
    try:
        prune(connection, before=datetime.now(UTC) - KEPT)
    except psycopg.Error as error:
        log.error("old runs are not pruned", extra={"because": one_line(error)})
