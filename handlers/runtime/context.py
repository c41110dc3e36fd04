"""What a job is given: its run, its database and the ways to have effects once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from aws_lambda_powertools.logging import Logger

from handlers.guard.answers import Claimed
from handlers.guard.bounded import BoundedConnection
from handlers.guard.connection import open_connection, work_session
from handlers.guard.once import Guard
from handlers.guard.outbox import NewRun, enqueue
from handlers.guard.steps import Steps, idempotency_key
from handlers.runtime.observer import RunFacts
from handlers.runtime.outlet import NO_OUTLET, Outlet
from handlers.runtime.stop import Stop
from handlers.runtime.supervisor import Interruption

if TYPE_CHECKING:
    from handlers.files.bucket import Bucket

Item = TypeVar("Item")

# Runs that are asked for in one transaction: short enough that a heartbeat never waits for it.
FAN_OUT_BATCH = 1000


class Context:
    """The one argument of a job's function."""

    def __init__(
        self, run: RunFacts, claimed: Claimed, guard: Guard, stop: Stop, log: Logger, outlet: Outlet = NO_OUTLET
    ) -> None:
        self.job = run.job
        self.run_key = run.run_key
        self.trigger = run.trigger
        self.attempt = run.attempt
        self.log = log
        # What is allowed to fail of the runs that it waits for; None while it waits for none.
        self.may_fail: float | None = None
        self._outlet = outlet
        self._tick = run.tick
        self._claimed = claimed
        self._guard = guard
        self.stop = stop
        self.has_sent = False
        self.done = 0
        self.total: int | None = None

    @property
    def tick(self) -> datetime:
        """The scheduled time the run stands for, aware UTC. Raises LookupError for a run that has none."""
        if self._tick is None:
            raise LookupError(f"run {self.run_key} of {self.job} has no tick: start it with one")
        return self._tick

    @cached_property
    def payload(self) -> Mapping[str, Any]:
        """What the run is about, as its sender or a person has said. Raises what fetching a large one raises."""
        return self._outlet.payload(self.job, self._claimed.payload)

    @cached_property
    def files(self) -> Bucket:
        """The environment's bucket. Raises NotConfigured where there is none."""
        return self._outlet.bucket()

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

    def enqueue(
        self,
        tx: psycopg.Connection,
        job: str,
        payload: Mapping[str, Any],
        *,
        key: str,
        partition: str | None = None,
        delay: timedelta = timedelta(),
    ) -> bool:
        """Have another job run on the payload, if and when the transaction commits; whether the key is new to it.

        The message is sent at once after the run, or within a minute by the watchdog. Raises NotDeclared, KeyTaken,
        TooManyHops, MalformedMessage.
        """
        queue = self._outlet.receiver(self.job, job)
        run = NewRun(key, dict(payload), partition, max(delay, queue.delay))
        self._outlet.check(job, queue, run)
        run_id, lasts = self._claimed.run_id, self._outlet.message_lasts(queue)
        new = enqueue(tx, job, [run], sender=run_id, message_lasts=lasts, held_back=queue.delay)
        self.has_sent = True
        return new > 0

    def fan_out(
        self,
        job: str,
        items: Sequence[Item],
        *,
        key: Callable[[Item], str],
        payload: Callable[[Item], Mapping[str, Any]],
        partition: Callable[[Item], str] | None = None,
        wait: bool = True,
        may_fail: float = 0.0,
    ) -> int:
        """Have another job run once for each item, as a part of this run; how many of them are new.

        They are keyed by this run and the item: another attempt adds none twice. With `wait` this run, once its
        function has returned, goes on without a process until the last of them has ended, and fails if more than the
        share `may_fail` (0 to 1) of them have not succeeded; of several calls the smallest share counts, for all that
        was sent. Raises NotDeclared, KeyTaken, TooManyHops, MalformedMessage.
        """
        queue = self._outlet.receiver(self.job, job)
        if not 0 <= may_fail <= 1:
            raise ValueError(f"may_fail is {may_fail}: allowed is a share from 0 to 1")
        if wait:  # for what was sent before an error, too, should the job go on after that
            self.may_fail = may_fail if self.may_fail is None else min(self.may_fail, may_fail)
        self.has_sent = True
        new = 0
        for start in range(0, len(items), FAN_OUT_BATCH):
            self.stop_if_asked()
            runs = [
                NewRun(
                    f"{self.job}/{self.run_key}/{key(item)}",
                    dict(payload(item)),
                    None if partition is None else partition(item),
                    queue.delay,
                )
                for item in items[start : start + FAN_OUT_BATCH]
            ]
            for run in runs:
                self._outlet.check(job, queue, run)
            with self._steps.held() as tx:
                run_id, lasts = self._claimed.run_id, self._outlet.message_lasts(queue)
                new += enqueue(tx, job, runs, sender=run_id, parent=run_id, message_lasts=lasts, held_back=queue.delay)
        return new

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
