"""What the watchdog does in its minute: a pass over the ledger, and what is to be done outside its network then."""

from collections.abc import Collection
from dataclasses import asdict, dataclass

import psycopg

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.duration import minutes
from handlers.guard.bad_end import bad_ends
from handlers.planning.overdue import oldest_due, overdue_tasks
from handlers.planning.rows import call
from handlers.planning.sweep import Pass, sweep
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET
from handlers.runtime.tell import Entry, entry

# Each start is a call of an AWS API, ten a second or so; what is left over is started in the next pass.
MOST_STARTS = 200
# Between a task's own end at its deadline and its stop from outside.
MARGIN = minutes(2)


# A task needs a minute, in a bad hour some, until it claims its run. Its failure to start is told at once.
ORDER_AGAIN = minutes(5)


@dataclass(frozen=True, slots=True)
class Order:
    """A run to start. attempt: how many it has had. token: names this order to ECS, which carries it out once.

    Not the attempt alone: to a token that it knows ECS answers with the task that it started then, for a day, though
    that may have ended without an attempt.
    """

    job: str
    run: int
    attempt: int
    trigger: str
    token: str


@dataclass(frozen=True, slots=True)
class Stop:
    """A Fargate task to stop, by its id: it has outlived its run's deadline, or lost its run."""

    job: str
    run: int
    task: str
    because: str


@dataclass(frozen=True, slots=True)
class Watch:
    """What came of it. late: seconds since the oldest due run of each job should have started, 0 where none is due.

    tell: the runs that were lost once too often, or that wait for a person now.
    """

    made: Pass
    starts: tuple[Order, ...]
    stops: tuple[Stop, ...]
    late: dict[str, float]
    tell: tuple[Entry, ...]

    def orders(self) -> dict[str, object]:
        """What the dispatcher is told to do, as JSON has it."""
        return {
            "at": self.made.at.isoformat(),
            "starts": [asdict(order) for order in self.starts],
            "stops": [asdict(stop) for stop in self.stops],
            "more": self.made.more or len(self.made.starts) > MOST_STARTS,
        }


def watch(
    connection: psycopg.Connection,
    catalogue: Catalogue,
    *,
    environment: str,
    off: Collection[str] = (),
) -> Watch:
    """Make one pass. off: see `sweep`. Raises psycopg.Error."""
    made = sweep(
        connection,
        catalogue,
        on_time=lambda job: job.start_within,
        rings=False,
        lost_budget=INFRASTRUCTURE_BUDGET,
        off=off,
        again=ORDER_AGAIN,
    )
    starts = made.starts[:MOST_STARTS]
    called = call(connection, [start.due.run_id for _, start in starts], again=ORDER_AGAIN) if starts else set()
    limits = {job.name: job.longest_run + job.stop_within + MARGIN for job in catalogue}
    return Watch(
        made,
        tuple(
            Order(
                job.name,
                start.due.run_id,
                start.due.attempts,
                start.trigger,
                f"{environment}-{start.due.run_id}-{start.due.attempts}-{made.at:%Y%m%dT%H%M%S}",
            )
            for job, start in starts
            if start.due.run_id in called
        ),
        tuple(Stop(*task) for task in overdue_tasks(connection, limits)),
        {job.name: 0.0 for job in catalogue} | oldest_due(connection, [job.name for job in catalogue]),
        tuple(map(entry, bad_ends(connection, [lost.run_id for lost in made.lost]))) if made.lost else (),
    )
