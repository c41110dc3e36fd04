"""The job that is tortured: steps and batches whose effects can be counted afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from os import getpid
from typing import Self

import psycopg

from handlers.declaration.cron import cron
from handlers.declaration.job import Job
from handlers.declaration.policy import Retry
from handlers.declaration.run_key import tick_key
from handlers.runtime.context import Context

STEPS = 2
ITEMS = 6
BATCH = 3
EFFECTS = frozenset([*(f"step:{number}" for number in range(STEPS)), *(f"item:{number}" for number in range(ITEMS))])

# Not idempotent, on purpose and without a constraint: a second time must be seen. The sum makes attempts meet at one
# row, which a holder that is frozen in its transaction keeps locked.
EFFECT = """
with summed as (
    insert into faults.account (job, total) values (%(job)s, 1)
    on conflict (job) do update set total = account.total + 1
)
insert into faults.effect (job, name, attempt, pid, filler)
values (%(job)s, %(name)s, %(attempt)s, %(pid)s, repeat(md5(random()::text), %(weight)s))
"""


@dataclass(frozen=True, slots=True)
class Calendar:
    """When the job is due, and the tick of the run under test: the last one."""

    expression: str
    tick: datetime

    @classmethod
    def around(cls, now: datetime) -> Self:
        """Daily, and next in 45 minutes: a holder whose clock is off by an hour would get the next tick wrong."""
        due = now + timedelta(minutes=45)
        expression = f"{due.minute} {due.hour} * * ? *"
        tick = cron(expression).previous(now)
        assert tick is not None
        return cls(expression, tick)

    @property
    def run_key(self) -> str:
        """The key of the run under test."""
        return tick_key(self.tick)

    @property
    def next_key(self) -> str:
        """The key of the run that it plans."""
        return tick_key(self.tick + timedelta(days=1))


def declared(name: str, calendar: Calendar) -> Job:
    """The job under a name of its own, so that runs beside each other do not overlap."""
    return Job(
        name,
        target=f"{__name__}:work",
        schedule=cron(calendar.expression),
        longest_run=timedelta(minutes=2),
        retry=Retry(attempts=20, base=timedelta(milliseconds=50), cap=timedelta(milliseconds=400)),
    )


def payload(*, dwell: float, weight: int = 1) -> dict[str, object]:
    """dwell: seconds that an attempt spends without the database. weight: size of an effect, in 32 bytes."""
    return {"dwell": dwell, "weight": weight}


def work(context: Context) -> Mapping[str, object]:
    """Two steps, then items in batches, with rests between them in which only the heartbeat talks."""
    rest = float(context.payload["dwell"]) / (STEPS + 1)

    def effect(tx: psycopg.Connection, name: str) -> None:
        facts = {"job": context.job, "name": name, "attempt": context.attempt, "pid": getpid()}
        tx.execute(EFFECT, facts | {"weight": context.payload["weight"]})

    for number in range(STEPS):
        with context.step(f"step:{number}") as tx:
            if tx is not None:
                effect(tx, f"step:{number}")
        context.stop.wait(rest)
    context.stop.wait(rest)
    context.each([f"item:{number}" for number in range(ITEMS)], effect, key=str, batch=BATCH)
    return {"attempt": context.attempt, "pid": getpid()}
