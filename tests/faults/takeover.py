"""How long a run stands still when its holder is killed, at the lease that production uses in its tests: 10 s."""

import signal
import tempfile
import time
from datetime import UTC, datetime
from queue import Empty, SimpleQueue

import psycopg

from ops.local.postgres import server
from tests.faults.job import Calendar
from tests.faults.stage import make_stages
from tests.faults.worker import Order
from tests.faults.workers import News, open_workers

LEASE = 10.0  # seconds
EVERY = 1.0  # seconds between two deliveries
LIMIT = 12.0  # seconds
DIES_AT = "job.EFFECT#2:after"
STARTED = """
select extract(epoch from started_at)::float8 from shiftlock.job_attempts where attempt = 2
"""


def takeover_seconds() -> float:
    """Seconds from the kill of a holder to the start of the next attempt. Raises TimeoutError."""
    calendar = Calendar.around(datetime.now(UTC))
    news: SimpleQueue[News] = SimpleQueue()
    with (
        tempfile.TemporaryFile() as log,
        server(None, fast=True) as url,
        open_workers(log) as workers,
        psycopg.connect(*make_stages(url, 1), autocommit=True) as ledger,
    ):

        def deliver(boundary: str | None = None) -> None:
            workers.start(
                Order(
                    number=workers.number(news),
                    url=ledger.info.dsn,
                    job="takeover",
                    expression=calendar.expression,
                    tick=calendar.tick.isoformat(),
                    lease=LEASE,
                    dwell=0.3,
                    boundary=boundary,
                    signal=signal.SIGKILL,
                )
            )

        deliver(DIES_AT)
        killed = _killed_at(news)
        deadline = time.monotonic() + 3 * LEASE
        while time.monotonic() < deadline:
            deliver()
            with_next = time.monotonic() + EVERY
            while (left := with_next - time.monotonic()) > 0:
                if row := ledger.execute(STARTED).fetchone():
                    return float(row[0]) - killed
                _heard(news, min(left, 0.1))
    raise TimeoutError(f"no second attempt within {3 * LEASE:.0f} s")


def _killed_at(news: SimpleQueue[News]) -> float:
    while True:
        heard = news.get(timeout=60)
        if heard.kind == "exited":
            return heard.at


def _heard(news: SimpleQueue[News], seconds: float) -> None:
    try:
        news.get(timeout=seconds)
    except Empty:
        return
