"""`PostgresPersistenceLayer`: where `@idempotent` and `@idempotent_function` of Powertools keep their records.

Powertools' contract is its `BasePersistenceLayer` (Powertools for AWS Lambda, "Idempotency"). docs/powertools.md says
how to use the layer and where it gives more than DynamoDB's.
"""

import os
import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Self
from uuid import UUID, uuid4

from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
    IdempotencyPersistenceLayerError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord

from handlers.guard.connection import Connect
from handlers.powertools.link import Link
from handlers.powertools.records import Record, abandon, complete, read, take
from handlers.runtime.database import connection_strings
from handlers.runtime.settings import read_settings

# With no time left a handler may still be at work for a moment, and a duplicate must not start beside it.
LEAST_LEASE = timedelta(seconds=1)
NO_WAIT = timedelta(0)
# Between two looks at a record that is waited for, in seconds.
LOOK_AGAIN = 0.1


class TakenOver(IdempotencyPersistenceLayerError):
    """The execution outlived its lease and another one has the key: its answer was not stored."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"record {key} was taken over by another execution, the result of this one is not stored")


class _OfThread(threading.local):
    """What Powertools does not hand from one call of an execution to the next; an execution stays in its thread."""

    def __init__(self) -> None:
        self.ends_at: float | None = None  # on the monotonic clock
        self.holders: dict[str, UUID] = {}


class PostgresPersistenceLayer(BasePersistenceLayer):
    """Idempotency records in `shiftlock.idempotency_records`; made at import, it connects on first use.

    database: a libpq connection string, or a callable that gives one for each new connection. wait: how long a
    duplicate waits for the execution in progress before it raises IdempotencyAlreadyInProgressError. pooled: there is
    a transaction pooler in between; to be said only of one that hides itself.
    """

    def __init__(self, database: Connect | str, *, wait: timedelta = NO_WAIT, pooled: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Powertools gives it no types
        connect = (lambda: database) if isinstance(database, str) else database
        self._link = Link(connect, name="shiftlock idempotency", pooled=pooled)
        self._wait = wait.total_seconds()
        self._thread = _OfThread()

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str] = os.environ, *, wait: timedelta = NO_WAIT, pooled: bool = False
    ) -> Self:
        """Over the database of the runtime's `SHIFTLOCK_*` variables. Raises InvalidSettings."""
        connect = connection_strings(read_settings(environ).database)
        return cls(connect, wait=wait, pooled=pooled)

    def save_inprogress(self, data: dict[str, Any], remaining_time_in_millis: int | None = None) -> None:
        """Take the key, for as long as the invocation can last at most where that is known."""
        # Powertools' record holds the end on this worker's clock, which may be wrong; a span can be trusted.
        self._thread.ends_at = (
            None if remaining_time_in_millis is None else time.monotonic() + remaining_time_in_millis / 1000
        )
        super().save_inprogress(data, remaining_time_in_millis)

    def _put_record(self, data_record: DataRecord) -> None:
        key, holder = data_record.idempotency_key, uuid4()
        give_up_at = time.monotonic() + self._wait
        while True:
            taken, other = take(self._link, key, holder, lease=self._lease(), payload_hash=data_record.payload_hash)
            if taken:
                self._thread.holders[key] = holder
                return
            seen = None if other is None else _data_record(key, other)
            if seen is not None:
                self._validate_payload(data_payload=data_record, stored_data_record=seen)
            if (other is not None and other.response is not None) or time.monotonic() >= give_up_at:
                break
            time.sleep(LOOK_AGAIN)  # the other execution tells nobody when it is done
        if seen is not None:
            self._save_to_cache(data_record=seen)
        raise IdempotencyItemAlreadyExistsError(old_data_record=seen)

    def _get_record(self, idempotency_key: str) -> DataRecord:
        record = read(self._link, idempotency_key)
        if record is None:
            raise IdempotencyItemNotFoundError
        return _data_record(idempotency_key, record)

    def _update_record(self, data_record: DataRecord) -> None:
        key = data_record.idempotency_key
        stored = complete(
            self._link,
            key,
            self._thread.holders.pop(key, None),
            keep=timedelta(seconds=self.expires_after_seconds),
            payload_hash=data_record.payload_hash,
            response=data_record.response_data,
        )
        if not stored:
            raise TakenOver(key)

    def _delete_record(self, data_record: DataRecord) -> None:
        # Of a key that was taken over nothing is deleted, and nothing raised: the handler's own error is on its way.
        key = data_record.idempotency_key
        abandon(self._link, key, self._thread.holders.pop(key, None))

    def _lease(self) -> timedelta:
        if self._thread.ends_at is None:
            return timedelta(seconds=self.expires_after_seconds)
        return max(LEAST_LEASE, timedelta(seconds=self._thread.ends_at - time.monotonic()))


def _data_record(key: str, record: Record) -> DataRecord:
    """Powertools compares the times with this worker's clock, so they are what is left, counted from its now."""
    until = time.time() + record.seconds_left
    return DataRecord(
        idempotency_key=key,
        status=record.status,
        expiry_timestamp=int(until),
        in_progress_expiry_timestamp=int(until * 1000) if record.status == "INPROGRESS" else None,
        response_data=record.response or "",
        payload_hash=record.payload_hash,
    )
