"""The two inventory jobs on a test's database and a test's POS."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import psycopg
from aws_lambda_powertools.logging import Logger

from handlers.declaration.catalogue import declare
from handlers.declaration.cron import cron
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.declaration.queue import Queue
from handlers.guard.answers import Claimed
from handlers.guard.lock import lock_key
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest
from handlers.runtime.context import Context
from handlers.runtime.identity import Delivery
from handlers.runtime.observer import RunFacts
from handlers.runtime.report import Report
from handlers.runtime.runner import Runner
from handlers.runtime.settings import DatabaseUrl, Settings
from handlers.runtime.stop import Stop
from ops.local.platform.load import load
from ops.local.pos.server import PosServer, menus
from tests.pos.clock import Clock

RESTAURANTS = 6
LEASE = timedelta(seconds=30)
AT_ONCE = Retry(attempts=2, base=timedelta(milliseconds=1), cap=timedelta(milliseconds=1))
JOBS = declare(
    Job(
        "inventory-sync",
        target="handlers.jobs.inventory_sync:run",
        schedule=cron("10 * * * ? *"),
        longest_run=minutes(5),
        retry=AT_ONCE,
        sends=("inventory-pull",),
    ),
    Job(
        "inventory-pull",
        target="handlers.jobs.inventory_pull:run",
        queue=Queue(),
        longest_run=minutes(5),
        retry=AT_ONCE,
        internet=True,
    ),
)

COUNTED = "create temp table counted (item integer primary key, restaurant integer, on_hand integer)"
# Both ways: what the POS counts and the platform has otherwise, and what the platform has and nobody counts.
DIFFERENT = """
select id, item, stock.on_hand, counted.on_hand
from (select * from platform.stock where restaurant_id = any(%(restaurants)s)) as stock
full join (select * from counted where restaurant = any(%(restaurants)s)) as counted
  on id = item and restaurant_id = restaurant
where stock.on_hand is distinct from counted.on_hand
"""


def load_platform(url: str) -> None:
    """The restaurants and their stock, without a day of orders."""
    load(url, date(2026, 11, 28), days=0, restaurants=RESTAURANTS, orders_per_day=60)


@contextmanager
def counting(url: str, set_variable: Callable[[str, str], None], clock: Clock | None = None) -> Iterator[PosServer]:
    """The restaurants on a database, and the POS that counts their stock, where inventory-pull will look for it."""
    load_platform(url)
    with PosServer(restaurant_items(), clock=clock or Clock()) as server, server.serving():
        set_variable("SHIFTLOCK_POS_URL", server.url)
        yield server


def restaurant_items() -> dict[int, list[int]]:
    """What the POS of the same restaurants counts."""
    return menus(RESTAURANTS)


def start(url: str, name: str, delivery: Delivery, *, stop: Stop | None = None) -> Report:
    """One of the two jobs by the real runner, with two attempts at once."""
    runner = Runner(
        settings=Settings("dev", DatabaseUrl(url)),
        observers=(),
        log=Logger(service="shiftlock"),
        compute="test",
        stop=stop or Stop(),
        catalogue=JOBS,
    )
    return runner.run(JOBS.find(name), delivery)


def pull(url: str, key: str, payload: Mapping[str, Any], *, stop: Stop | None = None) -> Report:
    """inventory-pull for a message."""
    partition = f"restaurant-{payload.get('restaurant')}"
    return start(url, "inventory-pull", Delivery("queue", None, payload, partition, key=key), stop=stop)


def asked(server: PosServer) -> list[tuple[str | None, int | None]]:
    """Cursor and status of each request so far."""
    return [(request.after, request.status) for request in server.requests]


def cursors(server: PosServer, restaurant: int) -> list[str | None]:
    """The cursor of each page from the beginning on."""
    every = server.changes(restaurant)
    ends = every[server.page - 1 : -1 : server.page]
    return [None, *(f"c{change.sequence:x}" for change in ends)]


def different(database: psycopg.Connection, server: PosServer, *restaurants: int) -> list[tuple[Any, ...]]:
    """Rows of these restaurants in which the platform and the POS do not agree."""
    database.execute(COUNTED)
    with database.cursor() as cursor, cursor.copy("copy counted from stdin") as copy:
        for restaurant in restaurants:
            for change in server.changes(restaurant):
                copy.write_row((change.item, restaurant, change.on_hand))
    rows = database.execute(DIFFERENT, {"restaurants": list(restaurants)}).fetchall()
    database.execute("drop table counted")
    return rows


@contextmanager
def claimed(url: str, key: str) -> Iterator[Context]:
    """What a run of inventory-pull is given, from the real guard; runs of several keys may go on at once."""
    with Guard(lambda: url, lease=LEASE, name=f"shiftlock test {key}") as guard:
        request = ClaimRequest(
            job="inventory-pull",
            run_key=key,
            tick=None,
            trigger="queue",
            holder=f"holder of {key}",
            compute="test",
            lease=LEASE,
            own_lock_key=lock_key(f"inventory-pull {key}"),
        )
        answer = guard.claim(request)
        assert isinstance(answer, Claimed)
        facts = RunFacts("inventory-pull", key, None, "queue", run_id=answer.run_id, attempt=answer.attempt)
        context = Context(facts, answer, guard, Stop(), Logger(service="shiftlock"))
        try:
            yield context
        finally:
            context.close()
