"""A job's process that writes an effect and a message in one transaction, and says when it has and has committed."""

import os
import sys

import psycopg

from tests.runtime.outbox import write

if __name__ == "__main__":
    with psycopg.connect(os.environ["SHIFTLOCK_DATABASE_URL"], autocommit=True) as connection:
        with connection.transaction():
            connection.execute("insert into effects values ('a')")
            write(connection, "resize", "a")
            print("written", flush=True)  # noqa: T201
            sys.stdin.readline()
        print("committed", flush=True)  # noqa: T201
        sys.stdin.readline()
