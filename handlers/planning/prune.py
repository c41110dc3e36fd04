"""Retention: finished runs leave the ledger after a time, in small batches."""

from datetime import datetime

import psycopg

# By id, which grows with time: what is looked at is the same however long the history is. Old runs that are not
# finished are passed over: those sent to a job that has left the table stay, however many there are.
PRUNE = """
delete from shiftlock.job_runs where id in (
    select id from (
        select id, finished_at from shiftlock.job_runs where finished_at is not null order by id limit %(batch)s
    ) as oldest
    where finished_at < %(before)s
)
"""
# A tenth of a second. By passes ten minutes apart, a quarter of a million runs a day.
BATCH = 2000


def prune(connection: psycopg.Connection, *, before: datetime) -> int:
    """Delete runs that finished before that, with their attempts and steps, at most BATCH; how many."""
    return connection.execute(PRUNE, {"before": before, "batch": BATCH}).rowcount
