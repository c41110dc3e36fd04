"""How facts of a run are written, the same in every table."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from rich.text import Text

from ops.table import status_text
from ops.wording import span


class State(Protocol):
    """What of a run says where it stands."""

    @property
    def status(self) -> str: ...
    @property
    def skip_reason(self) -> str | None: ...
    @property
    def waiting(self) -> bool: ...
    @property
    def cancel_reason(self) -> str | None: ...


def state(run: State) -> Text:
    """The status with what a person should know of it: why it was skipped, what it waits for, that it is to end."""
    note = run.skip_reason
    if run.status == "pending" and run.waiting:
        note = "waits for the run before it"
    elif run.status == "running" and run.cancel_reason is not None:
        note = "asked to end"
    return status_text(run.status, note)


def took(seconds: float | None) -> str | None:
    """A time in seconds as people read it."""
    return None if seconds is None else span(timedelta(seconds=seconds))


def how_far(progress: Mapping[str, Any] | None) -> str | None:
    """What a job has said of its progress: `7`, `7 of 100`; None before it has said anything."""
    done, total = ((progress or {}).get(name) for name in ("done", "total"))
    return f"{done} of {total}" if total else str(done) if done else None
