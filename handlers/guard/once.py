"""`Guard`: the one object a runtime talks to; it owns the session and gets a new one when that breaks."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg
from psycopg.types.json import Jsonb

from handlers.guard.answers import Answer, Claimed
from handlers.guard.claim import claim
from handlers.guard.connection import Connect
from handlers.guard.errors import DatabaseUnavailable, Fenced, NotRegistered, one_line
from handlers.guard.finish import finish
from handlers.guard.intervene import CannotIntervene, cancel
from handlers.guard.lock import register, register_key
from handlers.guard.request import ClaimRequest, Ending
from handlers.guard.session import Session, open_session
from handlers.guard.yielding import Waiting, has_run, next_in_line, run_by_id

Value = TypeVar("Value")

HEARTBEAT = """
update shiftlock.job_runs
set lease_until = clock_timestamp() + %(lease)s, progress = coalesce(%(progress)s, progress)
where id = %(run_id)s and fence = %(fence)s and holder = %(holder)s and status = 'running'
returning cancel_reason
"""

# After a lost connection: the lease still protects the run, the lock is taken again for quick detection of a crash.
REJOIN = """
with mine as (
    update shiftlock.job_runs
    set lease_until = clock_timestamp() + %(lease)s,
        backend_pid = %(backend_pid)s, backend_start = %(backend_start)s
    where id = %(run_id)s and fence = %(fence)s and holder = %(holder)s and status = 'running'
    returning lock_key
)
select case when not %(row_only)s::boolean then pg_try_advisory_lock(lock_key) end from mine
"""

# A statement may take as long as it likes. One that is over on the server has been answered, whatever has reached us.
# A session of which nothing can be seen (another role's, or without track_activities) counts as at work.
ANSWERED = """
select not exists (
    select from pg_stat_activity where pid = %(pid)s
    and (state like 'idle%%' and state_change < clock_timestamp() - %(for)s) is not true
)
"""

# Errors of the session and not of a statement. That it stood still within a transaction, psycopg counts as the
# program's own.
UNUSABLE = (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout)


class Guard:
    """The way to the ledger for one process, one run at a time, as a context manager.

    The heartbeat thread and the main thread may use it together. Every method raises DatabaseUnavailable when the
    database is out of reach; `name` is what the server shows as the session's application name.
    """

    def __init__(self, connect: Connect, *, lease: timedelta, name: str) -> None:
        self.connect = connect
        self.lease = lease
        self._name = name
        self._session: Session | None = None
        self._opening = threading.Lock()

    @property
    def row_only(self) -> bool:
        """Whether a transaction pooler stands in between, so that the row protects runs without the session lock."""
        return self._usable(None)[0].row_only

    def __enter__(self) -> Self:
        self._usable(None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            self._session.connection.close()

    def claim(self, request: ClaimRequest) -> Answer:
        """Ask for a run; a job that the ledger does not know yet is registered on the way."""

        def registered(session: Session) -> Answer:
            try:
                return claim(session, request)
            except NotRegistered:
                register(session.connection, [request.job])
                if request.partition is not None:
                    register_key(session.connection, request.lock_owner)
                return claim(session, request)

        return self._over_a_session(registered)

    def renew(self, claimed: Claimed, progress: dict[str, Any] | None) -> str | None:
        """Renew the lease and store the job's progress; why somebody wants the run to end, if anybody does.

        Raises Fenced when the run is no longer this holder's.
        """
        facts = {
            "run_id": claimed.run_id,
            "fence": claimed.fence,
            "holder": claimed.holder,
            "lease": self.lease,
            "progress": None if progress is None else Jsonb(progress),
        }
        row = self._over_a_session(lambda session: session.connection.execute(HEARTBEAT, facts).fetchone(), claimed)
        if row is None:
            raise Fenced(claimed.run_id, claimed.fence)
        reason: str | None = row[0]
        return reason

    def finish(self, claimed: Claimed, ending: Ending) -> None:
        """Record the end of an attempt. Raises Fenced when the run is no longer this holder's."""
        self._over_a_session(lambda session: finish(session, claimed, ending), claimed)

    def ask_to_stop(self, run_id: int, reason: str) -> None:
        """Ask the holder of another run to end it; one that has ended meanwhile needs no asking."""
        with suppress(CannotIntervene):
            self._over_a_session(lambda session: cancel(session.connection, run_id, reason))

    def has_answered(self, backend_pid: int) -> bool:
        """Whether the server has been through with what this other session of ours asked, for a lease or longer."""
        facts = {"pid": backend_pid, "for": self.lease}
        row = self._over_a_session(lambda session: session.connection.execute(ANSWERED, facts).fetchone())
        return row == (True,)

    def use(self, operation: Callable[[psycopg.Connection], Value]) -> Value:
        """Do something else over the guard's session, twice if it breaks under it."""
        return self._over_a_session(lambda session: operation(session.connection))

    def next_in_line(self, lock_key: int) -> Waiting | None:
        """The run that waits for this lock key, if one does."""
        return self._over_a_session(lambda session: next_in_line(session.connection, lock_key))

    def run_by_id(self, job: str, run_id: int) -> Waiting | None:
        """The run of the job that has this id, None when there is none."""
        return self._over_a_session(lambda session: run_by_id(session.connection, job, run_id))

    def has_run(self, job: str, run_key: str) -> bool:
        """Whether the ledger has a run of the job with this key."""
        return self._over_a_session(lambda session: has_run(session.connection, job, run_key))

    def _over_a_session(self, operation: Callable[[Session], Value], claimed: Claimed | None = None) -> Value:
        """Run the operation, a second time over a new session if the first one broke under it."""
        while True:
            session, is_new = self._usable(claimed)
            try:
                return operation(session)
            except UNUSABLE as error:
                if is_new or not session.connection.closed:
                    raise DatabaseUnavailable(session.place, one_line(error)) from error

    def _usable(self, claimed: Claimed | None) -> tuple[Session, bool]:
        """The session and whether it is new; a new one joins the claimed run."""
        with self._opening:
            if self._session is not None and not self._session.connection.closed:
                return self._session, False
            session = open_session(self.connect, lease=self.lease, name=self._name)
            if claimed is not None:
                self._rejoin(session, claimed)
            self._session = session
            return session, True

    def _rejoin(self, session: Session, claimed: Claimed) -> None:
        facts = {
            "run_id": claimed.run_id,
            "fence": claimed.fence,
            "holder": claimed.holder,
            "lease": self.lease,
            "backend_pid": session.backend_pid,
            "backend_start": session.backend_start,
            "row_only": session.row_only,
        }
        try:
            session.connection.execute(REJOIN, facts)
        except psycopg.OperationalError as error:
            session.connection.close()
            raise DatabaseUnavailable(session.place, one_line(error)) from error
