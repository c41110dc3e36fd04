"""What a job is given: its run, its database and the ways to have effects once."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

import psycopg
from aws_lambda_powertools.logging import Logger

from handlers.guard.answers import Claimed
from handlers.guard.bounded import BoundedConnection
from handlers.guard.connection import open_connection, work_session
from handlers.guard.once import Guard
from handlers.guard.steps import Steps, idempotency_key
from handlers.runtime.observer import RunFacts
from handlers.runtime.stop import Stop
from handlers.runtime.supervisor import Interruption

Item = TypeVar("Item")


class Context:
    """The one argument of a job's function."""

    def __init__(self, run: RunFacts, claimed: Claimed, guard: Guard, stop: Stop, log: Logger) -> None:
        self.job = run.job
        self.run_key = run.run_key
        self.trigger = run.trigger
        self.attempt = run.attempt
        self.payload: Mapping[str, Any] = claimed.payload
        self.log = log
        self._tick = run.tick
        self._claimed = claimed
        self._guard = guard
        self.stop = stop
        self.done = 0
        self.total: int | None = None

    @property
    def tick(self) -> datetime:
        """The scheduled time the run stands for, aware UTC. Raises LookupError for a run that has none."""
        if self._tick is None:
            raise LookupError(f"run {self.run_key} of {self.job} has no tick: start it with one")
        return self._tick

    @property
    def stopping(self) -> bool:
        """Whether the job should come to an end soon: see stop_if_asked."""
        return self.stop.is_set()

    def stop_if_asked(self) -> None:
        """End the attempt here, at a safe point, if the process was told to stop; the run goes on later."""
        if self.stop.is_set():
            raise Interruption("stop", "it was told to stop and did so at a safe point")

    @cached_property
    def connection(self) -> BoundedConnection:
        """The job's own connection, in autocommit, opened at first use. Raises DatabaseUnavailable."""
        return open_connection(
            self._guard.connect,
            name=work_session(self.job, self._claimed.run_id, self._claimed.fence),
            settings={"client_connection_check_interval": "1s"},
            pooled=self._guard.row_only,
        )

    def step(self, key: str) -> AbstractContextManager[psycopg.Connection | None]:
        """A transaction for an effect that must happen once in this run, whatever number of attempts it takes.

        with context.step("invoice:42") as tx:
            if tx is not None:  # None: an earlier attempt has done it
                tx.execute(...)
        """
        return self._steps.step(key)

    def each(
        self,
        items: Sequence[Item],
        work: Callable[[psycopg.Connection, Item], object],
        *,
        key: Callable[[Item], str],
        batch: int = 100,
    ) -> int:
        """Call `work(tx, item)` for each item that no attempt of this run has done; return how many this one did.

        `batch` items share a transaction. Between batches progress is noted and a request to stop is obeyed.
        """

        def before_batch(behind: int) -> None:
            self.progress(behind, len(items))
            self.stop_if_asked()

        done = self._steps.each(items, work, key=key, batch=batch, before_batch=before_batch)
        self.progress(len(items), len(items))
        return done

    def progress(self, done: int, total: int | None = None) -> None:
        """Note how far the job is; the heartbeat shows it."""
        self.done = done
        if total is not None:
            self.total = total

    def idempotency_key(self, name: str) -> str:
        """A key for an effect outside the database, the same in each attempt of this run."""
        return idempotency_key(self.job, self.run_key, name)

    def lost_answer(self) -> str | None:
        """Why the statement that the job waits for will never be answered; None when it may be, and without one.

        The guard's session may be well while nothing comes through to the job's: behind a stuck proxy both kernels go
        on answering keepalives. Raises DatabaseUnavailable.
        """
        if "connection" not in self.__dict__ or self._guard.row_only:
            return None  # a pooler's client has no session that can be looked at
        since = self.connection.waits_since
        if since is None or time.monotonic() - since < self._guard.lease.total_seconds():
            return None
        if not self._guard.has_answered(self.connection.info.backend_pid) or self.connection.waits_since != since:
            return None
        return "the server has answered the job's statement, or ended its session, and nothing has come through"

    def close(self) -> None:
        """Close the job's connection if it was opened."""
        if "connection" in self.__dict__:
            self.connection.close()

    @cached_property
    def _steps(self) -> Steps:
        return Steps(self.connection, self._claimed, lease=self._guard.lease)
