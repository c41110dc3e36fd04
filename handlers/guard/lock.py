"""Lock keys: derived from a name once, stored in the ledger, unique there."""

from collections.abc import Iterable
from hashlib import sha256

import psycopg

from handlers.guard.errors import LockKeyCollision

REGISTER = """
insert into shiftlock.jobs (name, lock_key) values (%(name)s, %(lock_key)s)
on conflict (name) do nothing
"""


def lock_key(name: str) -> int:
    """The first 8 bytes of the name's SHA-256, as the signed 64-bit number that advisory locks take.

    Not `hashtext`, whose values may change between PostgreSQL versions, nor Python's `hash`, which is salted.
    """
    return int.from_bytes(sha256(name.encode()).digest()[:8], signed=True)


def register(connection: psycopg.Connection, names: Iterable[str]) -> int:
    """Give each job its row in the ledger and return how many are new.

    The key of a job that is registered already stays what it is. Raises LockKeyCollision.
    """
    new = 0
    with connection.transaction():
        for name in names:
            try:
                new += connection.execute(REGISTER, {"name": name, "lock_key": lock_key(name)}).rowcount
            except psycopg.errors.UniqueViolation as error:
                raise LockKeyCollision(name, lock_key(name)) from error
    return new
