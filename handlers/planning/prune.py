"""Retention: finished runs leave the ledger after a time, in small batches."""

from datetime import datetime

import psycopg

# By id, which grows with time: what is looked at is the same however long the history is. An old run that is not
# finished only delays what comes after it for as long as it fills the batch.
PRUNE = """
delete from shiftlock.job_runs where id in (
    select id from (select id, finished_at from shiftlock.job_runs order by id limit %(batch)s) as oldest
    where finished_at < %(before)s
)
"""
BATCH = 200


def prune(connection: psycopg.Connection, *, before: datetime) -> int:
    """Delete runs that finished before that, with their attempts and steps, at most BATCH; how many."""
    return connection.execute(PRUNE, {"before": before, "batch": BATCH}).rowcount
