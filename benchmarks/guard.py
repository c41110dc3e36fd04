"""What a guarded run costs beside the least that any durable scheduler could do: two committed statements.

Each round measures every contender once, in turn, so that a machine that slows down slows all of them; what counts
are the ratios.

    python -m benchmarks.guard [--rounds 300]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from handlers.guard.answers import AlreadyDone, Claimed
from handlers.guard.migrate import migrate
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest, Ending
from ops.local.postgres import server

LEASE = timedelta(seconds=30)
NUMBERS = count(1)
BASE = "two INSERTs, committed"


def main() -> None:
    """Measure on a server of its own, with fsync on, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    with TemporaryDirectory(dir=Path(__file__).parent) as folder:
        times = measure(Path(folder), rounds)
    base = statistics.median(times[BASE])
    print(f"{'':30} median ms   ratio to {BASE}   ({rounds} rounds, fsync on)")
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"{name:30} {median * 1000:9.3f}   {median / base:.2f}")


def measure(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds that each contender took in each round, on a server in `folder`, which should be on a real disk."""
    with server(folder) as url, psycopg.connect(url, autocommit=True) as connection:
        migrate(connection)
        connection.execute("create table floor (id bigint primary key, note text)")
        with Guard(lambda: url, lease=LEASE, name="benchmark") as guard:
            guarded_run(guard)
            contenders: dict[str, Callable[[], None]] = {
                "SELECT 1": lambda: select(connection),
                BASE: lambda: two_inserts(connection),
                "guarded run": lambda: guarded_run(guard),
                "duplicate of a finished run": lambda: duplicate(guard),
            }
            times: dict[str, list[float]] = {name: [] for name in contenders}
            for number in range(rounds + 20):
                for name, contender in contenders.items():
                    began = time.perf_counter()
                    contender()
                    if number >= 20:  # the first rounds fill caches and prepare statements
                        times[name].append(time.perf_counter() - began)
    return times


def select(connection: psycopg.Connection) -> None:
    """The least a round trip costs."""
    connection.execute("select 1")


def two_inserts(connection: psycopg.Connection) -> None:
    """The floor: one durable row at the start and one at the end."""
    for _ in range(2):
        connection.execute("insert into floor values (%s, 'note')", (next(NUMBERS),))


def guarded_run(guard: Guard) -> None:
    """Claim and finish a run that does nothing."""
    answer = guard.claim(_request(str(next(NUMBERS))))
    if not isinstance(answer, Claimed):
        raise SystemExit(f"benchmark: the claim was refused: {answer}")
    guard.finish(answer, Ending(outcome="succeeded", status="succeeded", result={}))


def duplicate(guard: Guard) -> None:
    """The answer to a second delivery."""
    answer = guard.claim(_request("1"))
    if not isinstance(answer, AlreadyDone):
        raise SystemExit(f"benchmark: the first run is not done: {answer}")


def _request(run_key: str) -> ClaimRequest:
    return ClaimRequest(
        job="benchmark", run_key=run_key, tick=None, trigger="rule", holder="benchmark", compute="here", lease=LEASE
    )


if __name__ == "__main__":
    main()
