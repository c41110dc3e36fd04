"""What exactly-once costs per batch of items, beside the same work in transactions of the same size without it.

python -m benchmarks.steps [--items 100000]
"""

import argparse
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from handlers.guard.answers import Claimed
from handlers.guard.migrate import migrate
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest
from handlers.guard.steps import Steps
from ops.local.postgres import server

LEASE = timedelta(minutes=10)
BATCHES = (10, 100, 1000)


def main() -> None:
    """Measure in turn on a server of its own, with fsync on, and print seconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--items", type=int, default=100_000)
    items = parser.parse_args().items
    print(f"{items} items     plain s   each s   ratio   more per batch, ms   second attempt s")
    with TemporaryDirectory(dir=Path(__file__).parent) as folder, server(Path(folder)) as url:
        with psycopg.connect(url) as connection:
            migrate(connection)
        for batch in BATCHES:
            plain, guarded, again = measure(url, items, batch)
            more = (guarded - plain) / (items / batch) * 1000
            print(f"batches of {batch:5} {plain:9.2f} {guarded:8.2f} {guarded / plain:7.2f} {more:20.2f} {again:18.2f}")


def measure(url: str, items: int, batch: int) -> tuple[float, float, float]:
    """Seconds by hand, by steps, and by steps when an earlier attempt has done all of it."""
    with (
        psycopg.connect(url, autocommit=True) as connection,
        Guard(lambda: url, lease=LEASE, name="benchmark") as guard,
    ):
        connection.execute("create table if not exists effect (item bigint not null)")
        steps = Steps(connection, claim(guard, batch), lease=LEASE)
        plain = seconds(partial(by_hand, connection, items, batch))
        guarded = seconds(partial(by_steps, steps, items, batch))
        again = seconds(partial(by_steps, steps, items, batch))
    return plain, guarded, again


def seconds(work: Callable[[], object]) -> float:
    """How long the work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def insert(tx: psycopg.Connection, item: int) -> None:
    """The work on one item."""
    tx.execute("insert into effect values (%s)", (item,))


def by_hand(connection: psycopg.Connection, items: int, batch: int) -> None:
    """Each item once, if nothing ever fails."""
    for start in range(0, items, batch):
        with connection.transaction():
            for item in range(start, min(start + batch, items)):
                insert(connection, item)


def by_steps(steps: Steps, items: int, batch: int) -> None:
    """Each item once, whatever fails."""
    steps.each(range(items), insert, key=str, batch=batch, before_batch=lambda behind: None)


def claim(guard: Guard, number: int) -> Claimed:
    """A run to take the steps in."""
    request = ClaimRequest(
        job="benchmark",
        run_key=str(number),
        tick=None,
        trigger="rule",
        holder="here",
        compute="here",
        lease=LEASE,
        own_lock_key=number,
    )
    answer = guard.claim(request)
    if not isinstance(answer, Claimed):
        raise SystemExit(f"benchmark: the claim was refused: {answer}")
    return answer


if __name__ == "__main__":
    main()
