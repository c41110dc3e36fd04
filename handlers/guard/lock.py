"""Lock keys: derived from a name once, stored in the ledger, unique there."""

from collections.abc import Iterable
from hashlib import sha256

import psycopg

from handlers.guard.errors import LockKeyCollision

# Whatever the conflict: of two that register the same owner at once, the later may first meet the other's lock key.
REGISTER_KEY = """
insert into shiftlock.lock_keys (owner, lock_key) values (%(owner)s, %(lock_key)s) on conflict do nothing
"""
HAS_KEY = "select exists (select from shiftlock.lock_keys where owner = %(owner)s)"
REGISTER_JOB = """
insert into shiftlock.jobs (name, lock_key)
select owner, lock_key from shiftlock.lock_keys where owner = %(owner)s
on conflict do nothing
"""


def lock_key(owner: str) -> int:
    """The first 8 bytes of the owner's SHA-256, as the signed 64-bit number that advisory locks take.

    Not `hashtext`, whose values may change between PostgreSQL versions, nor Python's `hash`, which is salted.
    """
    return int.from_bytes(sha256(owner.encode()).digest()[:8], signed=True)


def register(connection: psycopg.Connection, jobs: Iterable[str]) -> int:
    """Give each job its row in the ledger and return how many are new.

    The key of a job that is registered already stays what it is. Raises LockKeyCollision.
    """
    new = 0
    with connection.transaction():
        for job in jobs:
            register_key(connection, job)
            new += connection.execute(REGISTER_JOB, {"owner": job}).rowcount
    return new


def register_key(connection: psycopg.Connection, owner: str) -> None:
    """Store the owner's lock key unless it is there. Raises LockKeyCollision."""
    facts = {"owner": owner, "lock_key": lock_key(owner)}
    if connection.execute(REGISTER_KEY, facts).rowcount == 0 and connection.execute(HAS_KEY, facts).fetchone() != (
        True,
    ):
        raise LockKeyCollision(owner, lock_key(owner))
