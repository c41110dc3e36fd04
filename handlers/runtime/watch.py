"""What the watchdog does in its minute: a pass over the ledger, and what is to be done outside its network then."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

import psycopg

from handlers.declaration.catalogue import Catalogue
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.guard.bad_end import bad_ends, untold
from handlers.guard.ring import ring
from handlers.planning.carry_out import call
from handlers.planning.misfire import Start
from handlers.planning.overdue import oldest_due, overdue_tasks
from handlers.planning.sweep import Pass, sweep
from handlers.runtime.retry import INFRASTRUCTURE_BUDGET
from handlers.runtime.tell import MOST_TOLD, Entry, entry

# Each start is a call of an AWS API, ten a second or so; what is left over is started in the next pass.
MOST_STARTS = 200
# A ring is a row of the outbox, of which a thousand are sent in some seconds.
MOST_RINGS = 1000
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

    rung: runs of messages that wait without one, which have a new one in the outbox now. tell: the runs that were lost
    once too often or wait for a person now, parents that failed with their children, and runs of messages that failed.
    """

    made: Pass
    starts: tuple[Order, ...]
    rung: frozenset[int]
    stops: tuple[Stop, ...]
    late: dict[str, float]
    tell: tuple[Entry, ...]

    def orders(self) -> dict[str, object]:
        """What the dispatcher is told to do, as JSON has it."""
        return {
            "at": self.made.at.isoformat(),
            "starts": [asdict(order) for order in self.starts],
            "stops": [asdict(stop) for stop in self.stops],
            "more": self.made.more or len(self.made.starts) > len(self.starts) + len(self.rung),
        }


def watch(
    connection: psycopg.Connection,
    catalogue: Catalogue,
    *,
    environment: str,
    off: Collection[str] = (),
    queues: bool = False,
) -> Watch:
    """Make one pass. off: see `sweep`. queues: whether messages are sent here. Raises psycopg.Error."""
    made = sweep(
        connection,
        catalogue,
        on_time=lambda job: job.start_within,
        rings=False,
        lost_budget=INFRASTRUCTURE_BUDGET,
        off=off,
        again=ORDER_AGAIN,
    )
    by_message = [made_start for made_start in made.starts if queues and _by_message(*made_start)]
    directly = [made_start for made_start in made.starts if not (queues and _by_message(*made_start))]
    starts = directly[:MOST_STARTS]
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
        _ring(connection, by_message[:MOST_RINGS]),
        tuple(Stop(*task) for task in overdue_tasks(connection, limits)),
        {job.name: 0.0 for job in catalogue} | oldest_due(connection, [job.name for job in catalogue]),
        _to_tell(connection, made),
    )


def _to_tell(connection: psycopg.Connection, made: Pass) -> tuple[Entry, ...]:
    lost = bad_ends(connection, [lost.run_id for lost in made.lost]) if made.lost else []
    ends = {end.run_id: end for end in [*lost, *untold(connection, most=MOST_TOLD)]}
    return tuple(map(entry, ends.values()))


def _by_message(job: Job, start: Start) -> bool:
    """Whether a message is what starts the run: its queue then says how many of them go on at once."""
    return start.due.trigger == "queue" and job.queue is not None


def _ring(connection: psycopg.Connection, starts: Sequence[tuple[Job, Start]]) -> frozenset[int]:
    lasts = {job.name: job.queue.retention for job, _ in starts if job.queue is not None}
    return frozenset(ring(connection, [start.due.run_id for _, start in starts], lasts)) if starts else frozenset()
