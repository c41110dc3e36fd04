"""Effects that happen exactly once per run, however many attempts it takes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from typing import TypeVar

import psycopg
from psycopg import errors

from handlers.guard.answers import Claimed
from handlers.guard.errors import Fenced

Item = TypeVar("Item")

DONE = "select step_key from shiftlock.run_steps where run_id = %(run_id)s and step_key = any(%(keys)s)"

# The last statement before the commit: the row lock keeps a successor from taking the run between the look at the
# fence and the commit, and lasts only that long, so heartbeats are not held up. Should this process freeze just
# there, the server ends the transaction after a lease.
RECORD = """
with mine as (
    select id, set_config('idle_in_transaction_session_timeout', %(lease)s, true)
    from shiftlock.job_runs
    where id = %(run_id)s and fence = %(fence)s and holder = %(holder)s and status = 'running' for share
)
insert into shiftlock.run_steps (run_id, step_key, fence)
select mine.id, step_key, %(fence)s from mine, unnest(%(keys)s::text[]) as step_key
"""


# As in RECORD, for work that needs no record of its own.
HOLD = """
select set_config('idle_in_transaction_session_timeout', %(lease)s, true)
from shiftlock.job_runs
where id = %(run_id)s and fence = %(fence)s and holder = %(holder)s and status = 'running' for share
"""


class Steps:
    """The steps of one claimed run, on the job's own connection."""

    def __init__(self, connection: psycopg.Connection, claimed: Claimed, *, lease: timedelta) -> None:
        self._connection = connection
        self._claimed = claimed
        self._lease = str(lease // timedelta(milliseconds=1))

    @contextmanager
    def step(self, key: str) -> Iterator[psycopg.Connection | None]:
        """One transaction for the caller's statements and the record that they are done.

        Gives None when an attempt of this run has done the step before. Raises Fenced, and undoes the caller's
        statements, when the run has been taken over.
        """
        with self._connection.transaction():
            if self._done([key]):
                yield None
                return
            yield self._connection
            self._record([key])

    @contextmanager
    def held(self) -> Iterator[psycopg.Connection]:
        """One transaction for statements that may come again, and then do nothing. Raises Fenced, as `step` does."""
        with self._connection.transaction():
            yield self._connection
            facts = {
                "run_id": self._claimed.run_id,
                "fence": self._claimed.fence,
                "holder": self._claimed.holder,
                "lease": self._lease,
            }
            if self._connection.execute(HOLD, facts).fetchone() is None:
                raise Fenced(self._claimed.run_id, self._claimed.fence)

    def each(
        self,
        items: Sequence[Item],
        work: Callable[[psycopg.Connection, Item], object],
        *,
        key: Callable[[Item], str],
        batch: int,
        before_batch: Callable[[int], object],
    ) -> int:
        """Call `work(connection, item)` for every item that no attempt has done; return how many this one did.

        `batch` items share a transaction with the record of their keys. `before_batch` is called before each with the
        number of items behind it, and may raise to end the loop.
        """
        done_here = 0
        for start in range(0, len(items), batch):
            group = items[start : start + batch]
            before_batch(start)
            by_key = {key(item): item for item in group}
            with self._connection.transaction():
                for done in self._done(list(by_key)):
                    del by_key[done]
                for item in by_key.values():
                    work(self._connection, item)
                if by_key:
                    self._record(list(by_key))
            done_here += len(by_key)
        return done_here

    def _done(self, keys: list[str]) -> set[str]:
        rows = self._connection.execute(DONE, {"run_id": self._claimed.run_id, "keys": keys})
        return {step_key for (step_key,) in rows}

    def _record(self, keys: list[str]) -> None:
        facts = {
            "run_id": self._claimed.run_id,
            "fence": self._claimed.fence,
            "holder": self._claimed.holder,
            "keys": keys,
            "lease": self._lease,
        }
        try:
            recorded = self._connection.execute(RECORD, facts).rowcount
        except errors.UniqueViolation as error:
            # Only another attempt can have recorded it since we looked, and it could only under a higher fence.
            raise Fenced(self._claimed.run_id, self._claimed.fence) from error
        if recorded != len(keys):
            raise Fenced(self._claimed.run_id, self._claimed.fence)


def idempotency_key(job: str, run_key: str, name: str) -> str:
    """A key for an effect elsewhere (a payment, an e-mail): the same in every attempt of the run, 64 hex digits."""
    return sha256(f"{job}\0{run_key}\0{name}".encode()).hexdigest()
