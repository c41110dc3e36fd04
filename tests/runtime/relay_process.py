"""A relay as a process of its own: relays once and says how many messages it has sent."""

import os
import sys

import psycopg

from handlers.queues.publish import Publisher
from handlers.runtime.relay import relay
from tests.queues.post import BASE, TABLE

if __name__ == "__main__":
    with psycopg.connect(os.environ["SHIFTLOCK_DATABASE_URL"], autocommit=True) as connection:
        print(relay(connection, Publisher(BASE, TABLE), TABLE).sent)  # noqa: T201
    sys.exit(0)
